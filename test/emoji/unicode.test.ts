import { describe, expect, test } from "bun:test";
import { canonicalEmoji } from "../../src/emoji/unicode.ts";

describe("the canonical spelling of an emoji", () => {
  test.each([
    ["a smiley", "😀"],
    ["a skin tone", "👍🏽"],
    ["a family of four, joined", "👨‍👩‍👧‍👦"],
    ["two people with skin tones of their own", "🧑🏻‍🤝‍🧑🏿"],
    ["a flag of two letters", "🇩🇪"],
    ["a flag of tag characters", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"],
    ["a keycap", "1️⃣"],
    ["a heart with its mark", "❤️"],
    ["two marks in one", "👁️‍🗨️"],
  ])("is what was sent for %s", (_what, emoji) => {
    expect(canonicalEmoji(emoji)).toBe(emoji);
  });

  test.each([
    ["a heart", "\u2764", "❤️"],
    ["a copyright sign", "\u00A9", "©️"],
    ["a keycap", "1\u20E3", "1️⃣"],
    ["a shrug that lacks the mark at its end", "🤷\u200D\u2642", "🤷‍♂️"],
    ["a kiss that lacks the one in its middle", "👩\u200D\u2764\u200D💋\u200D👨", "👩‍❤️‍💋‍👨"],
    ["an eye in a bubble that lacks both", "👁\u200D🗨", "👁️‍🗨️"],
    ["a thumb with a mark that it does not need", "👍\uFE0F", "👍"],
    ["a finger with a mark before its skin tone", "☝\uFE0F🏽", "☝🏽"],
  ])("has the marks of %s as they should be", (_what, sent, canonical) => {
    expect(canonicalEmoji(sent)).toBe(canonical);
  });

  test.each([
    ["nothing", ""],
    ["a letter", "a"],
    ["a digit", "1"],
    ["a word", "heart"],
    ["two emoji", "👍👍"],
    ["an emoji and a space", "👍 "],
    ["half of a flag", "🇩"],
    ["a flag of no country", "🇩🇩"],
    ["a joiner alone", "\u200D"],
    ["a mark alone", "\uFE0F"],
    ["a heart that asks to be shown as text", "❤\uFE0E"],
    ["a joined sequence that nobody draws", "👍‍👍"],
    ["half of a surrogate pair", "\uD83D"],
  ])("does not exist for %s", (_what, text) => {
    expect(canonicalEmoji(text)).toBeUndefined();
  });

  test("is found quickly in a text as long as a URL can be", () => {
    const startedAt = performance.now();
    expect(canonicalEmoji("❤\u200D".repeat(8_000))).toBeUndefined();
    expect(performance.now() - startedAt).toBeLessThan(500);
  });
});
