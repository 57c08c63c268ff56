const whiteSpace = /^\p{White_Space}$/u;

/** The text without the Unicode white space around it. Linear in its length, whatever stands in the middle. */
export function trim(text: string): string {
  let start = 0;
  let end = text.length;
  // All white space lies in the basic plane, so one UTF-16 unit is one character here.
  while (start < end && whiteSpace.test(text[start] as string)) start++;
  while (end > start && whiteSpace.test(text[end - 1] as string)) end--;
  return text.slice(start, end);
}

/** How many Unicode code points the text has: the unit of every length limit. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Whether the text is within `limit` code points, told without counting those of a text that cannot be. */
export function isWithin(text: string, limit: number): boolean {
  if (text.length <= limit) return true;
  return text.length <= limit * 2 && codePoints(text) <= limit;
}

/** Whether the text can be stored and shown again as it is: no NUL and no half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

// A name stands in one line of a list, a terminal and a log, and is told from others by the eye: no control characters,
// no line ends, no marks that turn the reading direction of what follows, and of the characters without a shape only
// those that letters and emoji need: the joiners, the choice of looks, the tags of a flag, a direction for the next one.
const unfitForNames =
  /[\p{Cc}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}[\p{Default_Ignorable_Code_Point}--[\u061C\u200C-\u200F\p{Variation_Selector}\u{E0020}-\u{E007F}]]]/v;

/** Whether the text can be the name of something: on one line, and not able to disguise what stands beside it. */
export function isNameable(text: string): boolean {
  return !unfitForNames.test(text);
}

// Accents and vowel signs belong to the letter before them; on a picture, or as the choice of its looks, they are no text.
const word = /[\p{L}\p{N}][[\p{L}\p{N}\p{Mn}\p{Mc}]--\p{Variation_Selector}]*/gv;

/**
 * The slug of a name: NFKC, lower case, letters and digits of any script kept (with the marks that belong to them),
 * every other run one `-`, none at the ends. Empty when the name holds no letter and no digit.
 */
export function slugOf(name: string): string {
  const plain = name.normalize("NFKC").toLowerCase().normalize("NFKC");
  return (plain.match(word) ?? []).join("-");
}

// People read lists of names, so they are in the order of a dictionary and not of character codes.
const dictionary = new Intl.Collator("en", { numeric: true });

/** Compares two things for a list by name; those of one name stand in the order in which they were made. */
export function byName(a: { id: string; name: string }, b: { id: string; name: string }): number {
  return dictionary.compare(a.name, b.name) || (a.id < b.id ? -1 : 1);
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether the text is a uuid of any version, in either case. */
export function isUuid(text: string): boolean {
  return text.length === 36 && uuid.test(text);
}
