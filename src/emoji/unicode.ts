const oneEmoji = /^\p{RGI_Emoji}$/v;
const presentationMark = "\uFE0F";
// Characters whose default presentation is text (❤, ♂, 1). One followed by a skin tone is an emoji without the mark.
const needsMark = /(?=\p{Emoji})\P{Emoji_Presentation}(?!\p{Emoji_Modifier})/gu;

/**
 * Returns the canonical spelling of the emoji; undefined if the text is not exactly one emoji that Unicode recommends
 * for interchange (UTS #51, RGI). Keyboards disagree on the presentation mark U+FE0F, so an emoji with too few or too
 * many of them counts as the same one.
 */
export function canonicalEmoji(text: string): string | undefined {
  if (oneEmoji.test(text)) return text;
  const marked = text.replaceAll(presentationMark, "").replace(needsMark, `$&${presentationMark}`);
  return oneEmoji.test(marked) ? marked : undefined;
}
