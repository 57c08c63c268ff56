const oneEmoji = /^\p{RGI_Emoji}$/v;
const presentationMark = "\uFE0F";
// Characters that stand as text on their own (❤, ♂, 1). A skin tone makes an emoji of the one before it without a mark.
const needsMark = /(?=\p{Emoji})\P{Emoji_Presentation}(?!\p{Emoji_Modifier})/gu;

/**
 * The emoji in its one canonical spelling, or undefined when the text is not exactly one emoji that Unicode
 * recommends for interchange (UTS #51, RGI). Keyboards disagree on the presentation mark U+FE0F: an emoji sent with
 * too few or too many of them is the same emoji.
 */
export function canonicalEmoji(text: string): string | undefined {
  if (oneEmoji.test(text)) return text;
  const marked = text.replaceAll(presentationMark, "").replace(needsMark, `$&${presentationMark}`);
  return oneEmoji.test(marked) ? marked : undefined;
}
