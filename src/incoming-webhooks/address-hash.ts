import { hashOf, isSecretText } from "../secrets/secret-text.ts";

/** Prefix of the stored hash of a webhook that requires signed requests. */
export const signedPrefix = "signed:";

/** Returns the hash of a URL token, the key for look-ups; undefined if the token is malformed. */
export function addressHash(token: string): string | undefined {
  return isSecretText(token) ? hashOf(token) : undefined;
}

/**
 * Returns what is stored for a webhook that requires signed requests: a hash of the token's hash. So the row itself
 * says that it is signed, and someone who can write to the database but does not know the token cannot undo that: the
 * stored value does not reveal the first hash, without which no URL leads to an unsigned row. Idempotent.
 */
export function signedHashOf(hash: string): string {
  return isSignedHash(hash) ? hash : signedPrefix + hashOf(signedPrefix + hash);
}

/** Whether the stored hash belongs to a webhook that requires signed requests. */
export function isSignedHash(stored: string): boolean {
  return stored.startsWith(signedPrefix);
}
