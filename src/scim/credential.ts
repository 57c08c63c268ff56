import { createHash, timingSafeEqual } from "node:crypto";

/** A token with fewer characters may be a word that somebody thought of, not a random one. */
const lengthMin = 32;

/** Returns a warning for the operator about a token too short to be safe; undefined when it is long enough. */
export function whyTooShort(token: string): string | undefined {
  if (token.length >= lengthMin) return undefined;
  return (
    `SCIM_TOKEN has fewer than ${lengthMin} characters: anyone who guesses it controls the team. Make a random ` +
    "one with openssl rand -hex 32, start the server with it, and give it to the directory."
  );
}

/**
 * Returns the check for the directory's token. It takes the same time for every wrong token: it compares digests, which
 * have the same length and do not show how much of the token was right.
 */
export function tokenCheck(token: string): (sent: string) => boolean {
  const expected = digest(token);
  return (sent) => timingSafeEqual(digest(sent), expected);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
