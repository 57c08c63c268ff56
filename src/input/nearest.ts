/** How much of the longer word two words must have in common for one to be a slip of the other. */
const commonShare = 0.6;

/** Returns the word that is most like the given one; undefined when none is like it. */
export function nearest(given: string, words: readonly string[]): string | undefined {
  const close = words
    .map((word) => ({ word, edits: editsBetween(given, word) }))
    .filter(({ word, edits }) => edits <= Math.max(word.length, given.length) * (1 - commonShare))
    .toSorted((a, b) => a.edits - b.edits);
  return close[0]?.word;
}

/** The number of characters to insert, remove or replace that turn one text into the other (Levenshtein). */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, n) => n);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
