import { hashOf, isSecretText } from "../secrets/secret-text.ts";

/** What the stored hash of a webhook begins with that takes signed requests only. */
export const signedPrefix = "signed:";

/** The hash of the token in a webhook's address, by which it is looked up; undefined for a token that is malformed. */
export function addressHash(token: string): string | undefined {
  return isSecretText(token) ? hashOf(token) : undefined;
}

/**
 * What is stored for a webhook that takes signed requests only: a hash of the hash. So the row says that it is signed, and
 * nobody can make it say anything else who does not know the token: of what is stored, the first hash cannot be told, and
 * without it there is no address that leads to an unsigned row.
 */
export function signedHashOf(hash: string): string {
  return isSignedHash(hash) ? hash : signedPrefix + hashOf(signedPrefix + hash);
}

/** Whether the stored hash is that of a webhook that takes signed requests only. */
export function isSignedHash(stored: string): boolean {
  return stored.startsWith(signedPrefix);
}
