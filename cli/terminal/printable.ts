// Control characters, the ends of lines, and the marks that turn the reading direction of what follows.
const unfit = /[\p{Cc}\p{Cs}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu;

/**
 * The text as a terminal may be given it: what could move the cursor, change colours or disguise what stands beside it
 * is spelled out, `\n` or `\u{1b}`.
 */
export function printable(text: string): string {
  return text.replace(unfit, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\t") return "\\t";
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}
