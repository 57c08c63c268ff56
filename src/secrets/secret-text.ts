/**
 * What a secret begins with, so that a person and a scanner of leaked secrets can tell what it opens: the token of a
 * bot, a personal access token, the URL token of an incoming webhook, a signing secret.
 */
export type SecretPrefix = "ply_bot_" | "ply_pat_" | "ply_in_" | "whsec_";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const checksumLength = 6; // 62^6 is more than 2^32
/**
 * How many characters stand between prefix and checksum; 62^40 is more than 2^238. With two more a signing secret is
 * base64 without a remainder, as the libraries of Standard Webhooks want it; earlier versions made it without them.
 */
const randomLengths = { ply_bot_: 40, ply_pat_: 40, ply_in_: 40, whsec_: 42 };
const shape = /^(?:(?:ply_bot_|ply_pat_|ply_in_|whsec_)[0-9A-Za-z]{46}|whsec_[0-9A-Za-z]{48})$/;

/** A new secret: the prefix, at least 40 random letters and digits (238 bits), and a checksum of 6. */
export function newSecret(prefix: SecretPrefix): string {
  const length = prefix.length + randomLengths[prefix];
  let text: string = prefix;
  while (text.length < length) {
    // Bytes from 248 on are dropped: 248 is the last multiple of 62, so every character is equally likely.
    for (const byte of crypto.getRandomValues(new Uint8Array(64))) {
      if (byte < 248 && text.length < length) text += alphabet[byte % 62];
    }
  }
  return text + checksum(text);
}

/** Whether the text has the form of one of our secrets and its checksum is right. Says nothing about its validity. */
export function isSecretText(text: string): boolean {
  return shape.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength);
}

/** The SHA-256 of a secret in hex: all that is stored of one that never has to be read back. */
export function hashOf(secret: string): string {
  return Bun.SHA256.hash(secret, "hex");
}

/** As much of a secret as a list may show. */
export function shownPrefix(secret: string, prefix: SecretPrefix): string {
  return secret.slice(0, prefix.length + 4);
}

function checksum(text: string): string {
  let rest = Bun.hash.crc32(text);
  let digits = "";
  for (let i = 0; i < checksumLength; i++) {
    digits = alphabet[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
