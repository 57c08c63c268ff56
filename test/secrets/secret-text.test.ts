import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { hashOf, isSecretText, newSecret, shownPrefix } from "../../src/secrets/secret-text.ts";

const prefixes = ["ply_bot_", "ply_pat_", "ply_in_", "whsec_"] as const;

describe.each(prefixes)("a secret that begins with %s", (prefix) => {
  test("is recognized as a Parley secret", () => {
    for (let i = 0; i < 200; i++) expect(isSecretText(newSecret(prefix))).toBe(true);
  });

  test("is never made twice and holds at least 192 random bits", () => {
    const secrets = Array.from({ length: 1_000 }, () => newSecret(prefix));
    expect(new Set(secrets).size).toBe(1_000);
    const [secret = ""] = secrets;
    const random = secret.slice(prefix.length, -6);
    expect(random).toMatch(/^[0-9A-Za-z]+$/);
    expect(random.length * Math.log2(62)).toBeGreaterThanOrEqual(192);
  });

  test("is not recognized with one character changed, dropped, added or swapped", () => {
    const secret = newSecret(prefix);
    for (let i = prefix.length; i < secret.length; i++) {
      const other = secret[i] === "x" ? "y" : "x";
      expect(isSecretText(secret.slice(0, i) + other + secret.slice(i + 1))).toBe(false);
      expect(isSecretText(secret.slice(0, i) + secret.slice(i + 1))).toBe(false);
    }
    expect(isSecretText(`${secret}0`)).toBe(false);
    expect(isSecretText(`${secret}\n`)).toBe(false);
    expect(isSecretText(` ${secret}`)).toBe(false);
  });

  test("shows four random characters in lists", () => {
    const secret = newSecret(prefix);
    expect(shownPrefix(secret, prefix)).toBe(secret.slice(0, prefix.length + 4));
  });
});

describe("a signing secret", () => {
  test("is base64 of 36 bytes after its prefix, without padding", () => {
    for (let i = 0; i < 200; i++) {
      const encoded = newSecret("whsec_").slice("whsec_".length);
      expect(encoded).toMatch(/^[0-9A-Za-z]{48}$/);
      expect(Buffer.from(encoded, "base64").toString("base64")).toBe(encoded);
    }
  });

  test("of an earlier version, two characters shorter, is still recognized as a Parley secret", () => {
    expect(isSecretText("whsec_uZhGMxHAQQBfkNwY7lRdfykd4moMbtkTGkWP3qFh4333vF")).toBe(true);
    expect(isSecretText("whsec_uZhGMxHAQQBfkNwY7lRdfykd4moMbtkTGkWP3qFh4333vG")).toBe(false);
  });
});

test("the checksum covers the prefix: a bot's token is not a person's", () => {
  expect(isSecretText(newSecret("ply_bot_").replace("ply_bot_", "ply_pat_"))).toBe(false);
});

test("every character of the alphabet is about equally likely", () => {
  const counts = new Map<string, number>();
  for (let i = 0; i < 2_000; i++) {
    for (const character of newSecret("whsec_").slice(6, 46)) {
      counts.set(character, (counts.get(character) ?? 0) + 1);
    }
  }
  // 80,000 characters of 62 kinds: 1,290 of each expected, with a standard deviation of 36.
  expect(counts.size).toBe(62);
  expect(Math.min(...counts.values())).toBeGreaterThan(1_290 - 8 * 36);
  expect(Math.max(...counts.values())).toBeLessThan(1_290 + 8 * 36);
});

test.each([
  "",
  "ply_bot_",
  "Bearer",
  `ply_bot_${"0".repeat(46)}`,
  `ply_admin_${"0".repeat(46)}`,
  "x".repeat(100_000),
])("%#: a text that is no secret is not taken for one", (text) => {
  expect(isSecretText(text)).toBe(false);
});

test("what is stored is the SHA-256 of the whole text", () => {
  const secret = newSecret("ply_pat_");
  expect(hashOf(secret)).toBe(createHash("sha256").update(secret, "utf8").digest("hex"));
});
