const whiteSpace = /^\p{White_Space}$/u;

/** Removes Unicode white space from both ends. Takes time linear in the length, whatever the text contains. */
export function trim(text: string): string {
  let start = 0;
  let end = text.length;
  // All white space is in the Basic Multilingual Plane, so one UTF-16 unit is one character here.
  while (start < end && whiteSpace.test(text[start] as string)) start++;
  while (end > start && whiteSpace.test(text[end - 1] as string)) end--;
  return text.slice(start, end);
}

/** The number of Unicode code points, which is the unit of every length limit. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Whether the text has at most `limit` code points. Does not count them where the UTF-16 length decides. */
export function isWithin(text: string, limit: number): boolean {
  if (text.length <= limit) return true;
  return text.length <= limit * 2 && codePoints(text) <= limit;
}

/** Whether the text can be stored and returned unchanged: it has no NUL and no lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

// Names appear in lists, terminals and log lines, and people distinguish them by sight. So they have no control
// characters, no line ends, no bidirectional marks that affect the following text, and of the invisible characters
// only those that letters and emoji need: joiners, variation selectors, the tags of flags, and marks for the direction
// of the next character.
const unfitForNames =
  /[\p{Cc}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}[\p{Default_Ignorable_Code_Point}--[\u061C\u200C-\u200F\p{Variation_Selector}\u{E0020}-\u{E007F}]]]/v;

/** Whether the text can be a name: it is on one line and cannot disguise adjacent text. */
export function isNameable(text: string): boolean {
  return !unfitForNames.test(text);
}

// Accents and vowel signs belong to the letter before them; on an emoji, or as a variation selector, they are not
// text.
const slugWord = /[\p{L}\p{N}][[\p{L}\p{N}\p{Mn}\p{Mc}]--\p{Variation_Selector}]*/gv;

/**
 * The slug of a name: NFKC, lower case, with letters and digits of any script (and their combining marks) kept and
 * every other run replaced by one `-`, none at the ends. Empty when the name has no letter or digit.
 */
export function slugOf(name: string): string {
  const plain = name.normalize("NFKC").toLowerCase().normalize("NFKC");
  return (plain.match(slugWord) ?? []).join("-");
}

// Lists of names are for people, so they are in dictionary order, not in order of character codes.
const dictionary = new Intl.Collator("en", { numeric: true });

/** Compares two items for a list sorted by name; items with equal names are in order of creation. */
export function byName(a: { id: string; name: string }, b: { id: string; name: string }): number {
  return dictionary.compare(a.name, b.name) || (a.id < b.id ? -1 : 1);
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether the text is a UUID of any version, in upper or lower case. */
export function isUuid(text: string): boolean {
  return text.length === 36 && uuidPattern.test(text);
}
