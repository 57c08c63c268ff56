import { describe, expect, test } from "bun:test";
import { codePoints, isNameable, isStorable, isUuid, isWithin, slugOf, trim } from "../../src/input/text.ts";

describe("trimming", () => {
  // Unicode's White_Space property, character by character.
  const whiteSpace = [
    "\t\n\v\f\r ",
    "\u0085\u00A0\u1680\u2028\u2029\u202F\u205F\u3000",
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A",
  ].join("");

  test("removes all Unicode white space from both ends and keeps what is between", () => {
    for (const space of whiteSpace) expect(trim(`${space}a${space}b${space}`)).toBe(`a${space}b`);
    expect(trim(`${whiteSpace}hello world${whiteSpace}`)).toBe("hello world");
  });

  test("leaves nothing of a text of white space", () => {
    expect(trim(whiteSpace)).toBe("");
    expect(trim("")).toBe("");
  });

  test("keeps characters that only look empty: they are not white space in Unicode", () => {
    for (const invisible of ["\u200B", "\u2060", "\uFEFF", "\u00AD", "\u180E", "\u2800"]) {
      expect(trim(invisible)).toBe(invisible);
    }
  });

  test("takes time proportional to the length, wherever the white space is", () => {
    const startedAt = performance.now();
    trim(`a${" ".repeat(500_000)}b`);
    expect(performance.now() - startedAt).toBeLessThan(500);
  });
});

describe("lengths", () => {
  test("count code points: an emoji is one, one of four people joined is seven", () => {
    expect(codePoints("abc")).toBe(3);
    expect(codePoints("😀")).toBe(1);
    expect(codePoints("👨‍👩‍👧‍👦")).toBe(7);
    expect(codePoints("e\u0301")).toBe(2);
  });

  test("are within a limit up to exactly that many code points", () => {
    expect(isWithin("😀".repeat(10), 10)).toBe(true);
    expect(isWithin("😀".repeat(11), 10)).toBe(false);
    expect(isWithin(`${"😀".repeat(9)}ab`, 10)).toBe(false);
    expect(isWithin("a".repeat(10), 10)).toBe(true);
    expect(isWithin("a".repeat(11), 10)).toBe(false);
    expect(isWithin("", 0)).toBe(true);
  });
});

describe("what can be stored", () => {
  test("is any text without NUL and lone surrogates", () => {
    expect(isStorable("Zeile 1\r\nZeile 2\t\u0001 😀")).toBe(true);
    expect(isStorable("a\0b")).toBe(false);
    expect(isStorable("\uD83D")).toBe(false);
    expect(isStorable("\uDE00\uD83D")).toBe(false);
  });

  test("is a name only if it stays on one line and does not reorder adjacent text", () => {
    expect(isNameable("Über Café 日本語 עברית 👩‍💻")).toBe(true);
    for (const unfit of ["a\nb", "a\u001B[31m", "a\u2028b", "a\u202Egnp.exe", "a\u0085b"]) {
      expect(isNameable(unfit)).toBe(false);
    }
  });
});

describe("the slug of a name", () => {
  test.each([
    ["General", "general"],
    ["#general", "general"],
    ["Über Café", "über-café"],
    ["日本語", "日本語"],
    ["Привет, мир!", "привет-мир"],
    ["  --Release  2.0--  ", "release-2-0"],
    ["under_score & dot.dot", "under-score-dot-dot"],
    ["ＦＵＬＬ　ｗｉｄｔｈ", "full-width"],
    ["ﬁnance №5", "finance-no5"],
    ["Ⅷ", "viii"],
    ["cafe\u0301", "café"],
    ["x²", "x2"],
    ["हिन्दी", "हिन्दी"],
    ["1️⃣ first", "1-first"],
  ])("of %p is %p", (name, slug) => {
    expect(slugOf(name)).toBe(slug);
  });

  test.each(["", "!!!", "—", "🎉🎉", " ", "#", "❤️", "🏳️‍⚧️", "\u0301"])(
    "of %p is empty: it has no letter and no digit",
    (name) => {
      expect(slugOf(name)).toBe("");
    },
  );

  test("is the same however the name is cased, composed or set", () => {
    const spellings = ["Ä-Team", "a\u0308-team", "Ａ\u0308 TEAM", "ä  team!"];
    expect(new Set(spellings.map(slugOf))).toEqual(new Set(["ä-team"]));
  });

  test("of a slug is that slug", () => {
    for (const name of ["İstanbul", "ẞtraße", "ΑΣ ΣΑΣ", "ǅ", "日本語 ﷺ", "x\u0345"]) {
      expect(slugOf(slugOf(name))).toBe(slugOf(name));
    }
  });
});

describe("a uuid", () => {
  test("may have any version and either case", () => {
    expect(isUuid("019aa2b0-5a3e-7000-8000-0123456789ab")).toBe(true);
    expect(isUuid("F47AC10B-58CC-4372-A567-0E02B2C3D479")).toBe(true);
    expect(isUuid("00000000-0000-0000-0000-000000000000")).toBe(true);
  });

  test.each([
    "",
    "1",
    "019aa2b05a3e700080000123456789ab",
    "{019aa2b0-5a3e-7000-8000-0123456789ab}",
    "g".repeat(36),
  ])("is not %p", (text) => {
    expect(isUuid(text)).toBe(false);
  });
});
