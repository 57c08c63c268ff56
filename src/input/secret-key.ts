/** The length of a key in bytes. */
export const keyBytes = 32;

/** Decodes a key of 32 bytes in base64 or hex; undefined when the text is neither. */
export function parseKey(text: string): Buffer | undefined {
  const key = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? "hex" : "base64");
  return key.length === keyBytes && /^[0-9A-Za-z+/=_-]+$/.test(text) ? key : undefined;
}
