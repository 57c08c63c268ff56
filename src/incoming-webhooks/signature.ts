import { timingSafeEqual } from "node:crypto";

/** How the requests of a sender show that it knows the signing secret, besides `X-Signature-256`. */
export type Proof = {
  /** Compares in constant time. */
  isGiven: (headers: Headers, rawBody: Uint8Array, secret: string) => boolean;
  /** The headers that carry it. */
  headers: readonly string[];
  /** What to set in the sender, as the 401 says it. */
  remedy: string;
};

/**
 * Whether `X-Signature-256` is the HMAC-SHA256 of exactly these bytes, keyed with the UTF-8 text of the whole `whsec_…`
 * secret. Accepts 64 hex digits in either case, bare or after `sha256=`; a missing header or any other form is false.
 * Compares in constant time. Specification part 5, rule 5.
 */
export function isValidSignature(header: string | null, rawBody: Uint8Array, secret: string): boolean {
  // The form is checked first: Buffer.from drops what is not hex, and timingSafeEqual throws on unequal lengths.
  const given = /^(?:sha256=)?([0-9a-fA-F]{64})$/.exec(header ?? "")?.[1];
  if (given === undefined) return false;
  return timingSafeEqual(
    Buffer.from(given, "hex"),
    new Bun.CryptoHasher("sha256", secret).update(rawBody).digest(),
  );
}

/** Says, to those who run the server, what a request without a valid proof had instead of one. */
export function whyUnproven(headers: Headers, proof: Proof | undefined): string {
  const names = ["X-Signature-256", ...(proof?.headers ?? [])];
  const found = names.filter((name) => headers.has(name));
  return found.length === 0
    ? `The request had no ${names.join(" or ")}.`
    : `The request's ${found.join(" and ")} did not match the webhook's secret.`;
}

/** Whether the text is the secret. Compares hashes of the two, whose lengths tell nothing, in constant time. */
export function isSameSecret(given: string | null, secret: string): boolean {
  const hashed = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest();
  return timingSafeEqual(hashed(given ?? ""), hashed(secret));
}
