import { timingSafeEqual } from "node:crypto";

/** How far the time of a signature may lie from the receiver's clock: what the specification suggests in part 6. */
const toleranceSeconds = 300;

/** The digest covers the number as text: `+1` and `01` would be other texts for one time. */
const canonicalSeconds = /^(?:0|[1-9][0-9]{0,14})$/;

/** Why a delivery is not believed. `stale` is a right signature whose time lies too far away in either direction. */
export type SignatureVerdict =
  | { ok: true; timestampSeconds: number }
  | { ok: false; reason: "missing" | "malformed" | "mismatch" | "stale" };

/**
 * The value of `X-Service-Signature`: `t=<unix seconds>,v1=<hex>`, with one `v1` for each secret in the order given.
 * While a rotation overlaps there are two secrets, the new one first, so that a receiver that reads only the first
 * digest goes with the new one. The key of the HMAC is the UTF-8 of the whole `whsec_…` text. Specification part 6.
 */
export function deliverySignature(
  secrets: readonly string[],
  timestampSeconds: number,
  rawBody: Uint8Array | string,
): string {
  const digests = secrets.map((secret) => `v1=${digest(secret, timestampSeconds, rawBody).toString("hex")}`);
  return [`t=${timestampSeconds}`, ...digests].join(",");
}

/**
 * The value of `webhook-signature`, as Standard Webhooks describes it: `v1,<base64>` over `<id>.<unix seconds>.<body>`
 * for each secret in the order given, with spaces between. The key is what the text after `whsec_` says in base64.
 * A secret of earlier versions has 46 characters there, which leaves 4 bits over: they are dropped, as the libraries for
 * JavaScript and Python do. The one for Go refuses such a secret, whatever we sign.
 */
export function standardSignature(
  secrets: readonly string[],
  id: string,
  timestampSeconds: number,
  rawBody: Uint8Array | string,
): string {
  return secrets
    .map((secret) => `v1,${standardHash(secret, id, timestampSeconds, rawBody).digest("base64")}`)
    .join(" ");
}

function standardHash(
  secret: string,
  id: string,
  timestampSeconds: number,
  rawBody: Uint8Array | string,
): Bun.CryptoHasher {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  return new Bun.CryptoHasher("sha256", key).update(`${id}.${timestampSeconds}.`).update(rawBody);
}

/**
 * Judges a delivery the way a receiver should: over the bytes as they came, in constant time, and against a clock.
 * One digest that fits is enough, and fields other than `t` and `v1` are passed over, so that the scheme can grow.
 */
export function verifyDeliverySignature(
  header: string | null,
  rawBody: Uint8Array | string,
  secret: string,
  nowSeconds: number,
): SignatureVerdict {
  if (header === null || header === "") return { ok: false, reason: "missing" };
  const signed = parse(header);
  if (signed === undefined) return { ok: false, reason: "malformed" };

  const { timestampSeconds } = signed;
  return judge(signed.digests, digest(secret, timestampSeconds, rawBody), timestampSeconds, nowSeconds);
}

/** Judges a delivery by the headers of Standard Webhooks, as `verifyDeliverySignature` does by ours. */
export function verifyStandardSignature(
  headers: Headers,
  rawBody: Uint8Array | string,
  secret: string,
  nowSeconds: number,
): SignatureVerdict {
  const [id, time, signatures] = ["id", "timestamp", "signature"].map((name) =>
    headers.get(`webhook-${name}`),
  );
  if (!id || !time || !signatures) return { ok: false, reason: "missing" };
  const digests = signatures.split(" ").flatMap((signature) => {
    const [, digits] = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(signature) ?? [];
    return digits === undefined ? [] : [Buffer.from(digits, "base64")];
  });
  if (digests.length === 0 || !canonicalSeconds.test(time)) return { ok: false, reason: "malformed" };

  const timestampSeconds = Number(time);
  return judge(
    digests,
    standardHash(secret, id, timestampSeconds, rawBody).digest(),
    timestampSeconds,
    nowSeconds,
  );
}

/** The time is looked at last: only once a digest fits is it known that the sender wrote it. */
function judge(
  digests: readonly Buffer[],
  expected: Buffer,
  timestampSeconds: number,
  nowSeconds: number,
): SignatureVerdict {
  if (!digests.some((given) => timingSafeEqual(given, expected))) return { ok: false, reason: "mismatch" };
  if (Math.abs(nowSeconds - timestampSeconds) > toleranceSeconds) return { ok: false, reason: "stale" };
  return { ok: true, timestampSeconds };
}

function digest(secret: string, timestampSeconds: number, rawBody: Uint8Array | string): Buffer {
  return new Bun.CryptoHasher("sha256", secret).update(`${timestampSeconds}.`).update(rawBody).digest();
}

function parse(header: string): { timestampSeconds: number; digests: Buffer[] } | undefined {
  const times: string[] = [];
  const digests: Buffer[] = [];
  for (const field of header.split(",")) {
    const [, name, value = ""] = /^([a-z0-9]+)=(.*)$/.exec(field) ?? [];
    if (name === undefined) return undefined;
    if (name === "t") times.push(value);
    if (name === "v1") {
      // Buffer.from stops at the first character that is no hex digit and says nothing.
      if (!/^[0-9a-f]{64}$/.test(value)) return undefined;
      digests.push(Buffer.from(value, "hex"));
    }
  }
  const [time, ...more] = times;
  if (time === undefined || more.length > 0 || !canonicalSeconds.test(time)) return undefined;
  if (digests.length === 0) return undefined;
  return { timestampSeconds: Number(time), digests };
}
