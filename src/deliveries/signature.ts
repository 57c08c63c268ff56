import { timingSafeEqual } from "node:crypto";

/** How far a signature's timestamp may be from the receiver's clock, as specification part 6 suggests. */
const toleranceSeconds = 300;

/** The digest covers the timestamp's text, in which `+1` or `01` would be different spellings of the same time. */
const canonicalSeconds = /^(?:0|[1-9][0-9]{0,14})$/;

/**
 * Whether a delivery is authentic. `stale` means a correct signature whose timestamp is too far in the past or future.
 */
export type SignatureVerdict =
  | { ok: true; timestampSeconds: number }
  | { ok: false; reason: "missing" | "malformed" | "mismatch" | "stale" };

/**
 * Returns the value of `X-Service-Signature`: `t=<unix seconds>,v1=<hex>`, with one `v1` for each secret in the given
 * order. During the overlap of a rotation there are two secrets, the new one first, so that receivers that read only
 * the first digest use the new one. The HMAC key is the UTF-8 of the whole `whsec_…` text. Specification part 6.
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
 * Returns the value of `webhook-signature` as Standard Webhooks defines it: for each secret in the given order,
 * separated by spaces, `v1,<base64>` over `<id>.<unix seconds>.<body>`. The key is the text after `whsec_`, decoded
 * from base64. Secrets of earlier versions have 46 characters there, with 4 bits left over; these are dropped, as the
 * JavaScript and Python libraries do. The Go library rejects such a secret, whatever is signed.
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
 * Verifies `X-Service-Signature` the way a receiver should: over the raw body, in constant time, and against a clock.
 * One matching digest is enough, and fields other than `t` and `v1` are ignored, so that the scheme can be extended.
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

/** Verifies the headers of Standard Webhooks, by the same rules as `verifyDeliverySignature`. */
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

/** Checks the timestamp last: only a matching digest proves that the sender wrote it. */
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
      // Buffer.from silently stops at the first character that is not a hex digit.
      if (!/^[0-9a-f]{64}$/.test(value)) return undefined;
      digests.push(Buffer.from(value, "hex"));
    }
  }
  const [time, ...more] = times;
  if (time === undefined || more.length > 0 || !canonicalSeconds.test(time)) return undefined;
  if (digests.length === 0) return undefined;
  return { timestampSeconds: Number(time), digests };
}
