import type { OwnHeaders } from "../subscriptions/headers.ts";

/** Shorter words are hardly secret, and without them many responses could not be understood. */
const lengthMin = 8;
/** No longer than a word, so that a text does not grow. */
const hidden = "(hidden)";

/**
 * Returns the start of a response without the words of the headers' values: a receiver that repeats its request would
 * have them stored and shown. A word that the end cuts off is hidden as well.
 */
export function withoutValues(start: Uint8Array, headers: OwnHeaders): Uint8Array {
  const words = start.length === 0 ? [] : wordsOf(headers);
  if (words.length === 0) return start;
  // One character for each byte, so that all other bytes stay as they are.
  const text = Buffer.from(start).toString("latin1");
  let shown = text;
  for (const word of words) shown = withoutCutEnd(shown.replaceAll(word, hidden), word);
  return shown === text ? start : Buffer.from(shown, "latin1");
}

/** The words of the values, longest first, also as they are written in JSON. */
function wordsOf(headers: OwnHeaders): string[] {
  const words = Object.values(headers)
    .flatMap((value) => value.split(" "))
    .filter((word) => word.length >= lengthMin);
  const all = new Set(words.flatMap((word) => [word, JSON.stringify(word).slice(1, -1)]));
  return [...all].toSorted((one, other) => other.length - one.length);
}

function withoutCutEnd(text: string, word: string): string {
  const at = text.lastIndexOf(word.slice(0, lengthMin));
  return at !== -1 && word.startsWith(text.slice(at)) ? text.slice(0, at) + hidden : text;
}
