import { randomBytes } from "../system/repeatable.ts";

/**
 * A secret's prefix, which tells people and scanners for leaked secrets its kind: a bot token, a personal access
 * token, the URL token of an incoming webhook, a signing secret.
 */
export type SecretPrefix = "ply_bot_" | "ply_pat_" | "ply_in_" | "whsec_";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const checksumLength = 6; // 62^6 is more than 2^32
/**
 * The number of random characters between prefix and checksum; 62^40 is more than 2^238. With 42, the part of a
 * signing secret after its prefix is base64 without padding, as Standard Webhooks libraries require; earlier versions
 * used 40.
 */
const randomLengths = { ply_bot_: 40, ply_pat_: 40, ply_in_: 40, whsec_: 42 };
/** The lengths of whole secrets, of which signing secrets have had two. */
const secretLengths = ["ply_bot_", "ply_in_", "whsec_", "whsec_xx"].map(({ length }) => length + 46);
const shape = /^(?:(?:ply_bot_|ply_pat_|ply_in_|whsec_)[0-9A-Za-z]{46}|whsec_[0-9A-Za-z]{48})$/;

/**
 * Returns a new secret: the prefix, at least 40 random letters and digits (238 bits), and a checksum of 6 characters.
 */
export function newSecret(prefix: SecretPrefix): string {
  const length = prefix.length + randomLengths[prefix];
  let text: string = prefix;
  while (text.length < length) {
    // Bytes from 248 on are discarded: 248 is the largest multiple of 62 in a byte, so all characters are equally
    // likely.
    for (const byte of randomBytes(64)) {
      if (byte < 248 && text.length < length) text += alphabet[byte % 62];
    }
  }
  return text + checksum(text);
}

/**
 * Whether the text has the format of a Parley secret and a correct checksum. Says nothing about whether it is valid.
 */
export function isSecretText(text: string): boolean {
  return shape.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength);
}

/**
 * The Parley secrets in a text that comes in parts, each once, in the order in which they appear. Only a correct checksum
 * makes one. Remembers no more of the text than its last characters.
 */
export async function secretsIn(parts: AsyncIterable<string> | Iterable<string>): Promise<string[]> {
  const found = new Set<string>();
  let rest = "";
  for await (const part of parts) {
    const text = rest + part;
    for (const { index } of text.matchAll(/(?:ply_(?:bot|pat|in)|whsec)_/g)) {
      // What follows a secret may be a letter as well, as in a line that was joined to the next one.
      for (const length of secretLengths) {
        const candidate = text.slice(index, index + length);
        if (isSecretText(candidate)) found.add(candidate);
      }
    }
    rest = text.slice(1 - Math.max(...secretLengths));
  }
  return [...found];
}

/** The secret's kind, as its prefix tells. */
export function prefixOf(secret: string): SecretPrefix {
  return /^(?:ply_(?:bot|pat|in)|whsec)_/.exec(secret)?.[0] as SecretPrefix;
}

/** The SHA-256 of a secret in hex, which is stored in place of secrets that never have to be read back. */
export function hashOf(secret: string): string {
  return Bun.SHA256.hash(secret, "hex");
}

/** The part of a secret that lists may show. */
export function shownPrefix(secret: string, prefix: SecretPrefix): string {
  return secret.slice(0, prefix.length + 4);
}

function checksum(text: string): string {
  let remainder = Bun.hash.crc32(text);
  let digits = "";
  for (let i = 0; i < checksumLength; i++) {
    digits = alphabet[remainder % 62] + digits;
    remainder = Math.floor(remainder / 62);
  }
  return digits;
}
