const oneEmoji = /^\p{RGI_Emoji}$/v;
const emojiPresentation = "\uFE0F";

/**
 * The emoji in its one canonical spelling, or undefined when the text is not exactly one emoji that Unicode
 * recommends for interchange. A heart sent without its presentation mark is the same heart.
 */
export function canonicalEmoji(text: string): string | undefined {
  if (oneEmoji.test(text)) return text;
  const [first = "", ...rest] = text;
  const marked = first + emojiPresentation + rest.join("");
  return oneEmoji.test(marked) ? marked : undefined;
}
