import { createHash, timingSafeEqual } from "node:crypto";

/** A token of fewer characters is short enough to be a word that somebody thought of. */
const lengthMin = 32;

/** What an operator is to be told of a token that is too short to be safe; undefined where it is long enough. */
export function whyTooShort(token: string): string | undefined {
  if (token.length >= lengthMin) return undefined;
  return (
    `SCIM_TOKEN has fewer than ${lengthMin} characters, and whoever guesses it rules the team. Make a random one with ` +
    "openssl rand -hex 32, start the server with it, and give it to the directory."
  );
}

/**
 * Makes the check for the one token that a directory may send. It takes the same time for every wrong one: what is
 * compared are digests, which have one length and tell nothing of how much of the token was right.
 */
export function tokenCheck(token: string): (sent: string) => boolean {
  const expected = digest(token);
  return (sent) => timingSafeEqual(digest(sent), expected);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
