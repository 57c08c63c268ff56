// Control characters, line ends, and marks that change the direction of the text after them.
const unfit = /[\p{Cc}\p{Cs}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu;

/**
 * Makes the text safe to print on a terminal: escapes whatever could move the cursor, change colours or disguise the
 * text around it, as `\n` or `\u{1b}`.
 */
export function printable(text: string): string {
  return text.replace(unfit, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\t") return "\\t";
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}
