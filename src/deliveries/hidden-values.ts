import type { OwnHeaders } from "../subscriptions/headers.ts";

/** Shorter words are hardly secret, and without them many responses could not be understood. */
const lengthMin = 8;
/** No longer than a word, so that a text does not grow. */
const hidden = "(hidden)";
/** What stands between the parts of a value: of `Bearer …`, a cookie, a login or a parameter in quotes. */
const delimiters = /[ =;,:"]+/;

/**
 * Returns the start of a response without the headers' values and the words in them: a receiver that repeats its request
 * would have them stored and shown. A word that the end cuts off is hidden as well.
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

/** The values, their words and the parts of those, longest first, in each form that a response may have them in. */
function wordsOf(headers: OwnHeaders): string[] {
  const words = Object.values(headers)
    .flatMap((value) => [value, ...value.split(" "), ...value.split(delimiters)])
    .filter((word) => word.length >= lengthMin);
  return [...new Set(words.flatMap(formsOf))].toSorted((one, other) => other.length - one.length);
}

/** The word as it is, in JSON with and without escaped slashes, in a URL and in HTML. */
function formsOf(word: string): string[] {
  const inJson = JSON.stringify(word).slice(1, -1);
  return [word, inJson, inJson.replaceAll("/", "\\/"), encodeURIComponent(word), Bun.escapeHTML(word)];
}

function withoutCutEnd(text: string, word: string): string {
  const beginning = word.slice(0, lengthMin);
  // The first one that fits, since a word may repeat its own beginning. None is longer than the word.
  let at = text.indexOf(beginning, Math.max(0, text.length - word.length));
  while (at !== -1 && !word.startsWith(text.slice(at))) at = text.indexOf(beginning, at + 1);
  return at === -1 ? text : text.slice(0, at) + hidden;
}
