/** How long a key is, in bytes. */
export const keyBytes = 32;

/** 32 bytes in base64 or hex, or undefined. */
export function parseKey(text: string): Buffer | undefined {
  const key = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? "hex" : "base64");
  return key.length === keyBytes && /^[0-9A-Za-z+/=_-]+$/.test(text) ? key : undefined;
}
