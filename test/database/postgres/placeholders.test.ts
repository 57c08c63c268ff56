import { describe, expect, test } from "bun:test";
import { numbered } from "../../../src/database/postgres/placeholders.ts";

describe("the parameters of a statement are numbered", () => {
  test.each([
    ["SELECT 1", "SELECT 1"],
    ["SELECT ?", "SELECT $1"],
    [
      "SELECT a FROM t WHERE b = ? AND (c, d) > (?, ?) LIMIT ?",
      "SELECT a FROM t WHERE b = $1 AND (c, d) > ($2, $3) LIMIT $4",
    ],
    ["SELECT cast(? AS text),?", "SELECT cast($1 AS text),$2"],
    ["INSERT INTO t (a, b) VALUES (?, ?), (?, ?)", "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4)"],
    ["SELECT a IN (?,?,?,?,?,?,?,?,?,?,?)", "SELECT a IN ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)"],
  ])("%s", (text, expected) => {
    expect(numbered(text)).toEqual({ text: expected, count: expected.split("$").length - 1, names: [] });
  });

  test.each([
    ["in a string", "SELECT 'a ? b', ?", "SELECT 'a ? b', $1"],
    ["in a string with an apostrophe", "SELECT 'it''s ?', ?", "SELECT 'it''s ?', $1"],
    ["in an empty string", "SELECT '', ?, ''", "SELECT '', $1, ''"],
    ["in a quoted name", 'SELECT "a?", "b""?", ?', 'SELECT "a?", "b""?", $1'],
    ["in a comment to the end of the line", "SELECT 1 -- why?\n, ?", "SELECT 1 -- why?\n, $1"],
    ["in a comment to the end of the text", "SELECT ? -- why?", "SELECT $1 -- why?"],
    ["in a comment between", "SELECT /* a\n? */ ?", "SELECT /* a\n? */ $1"],
    ["after a backslash, which escapes nothing", String.raw`SELECT 'a\', ?`, String.raw`SELECT 'a\', $1`],
  ])("but not a question mark %s", (_, text, expected) => {
    expect(numbered(text)).toEqual({ text: expected, count: 1, names: [] });
  });

  test("in the order of their names' first places, and each name once", () => {
    expect(numbered("INSERT INTO t (a, b, c) VALUES ($teamId, $b_2, $teamId)")).toEqual({
      text: "INSERT INTO t (a, b, c) VALUES ($1, $2, $1)",
      count: 2,
      names: ["teamId", "b_2"],
    });
  });

  test("but not a name in a string", () => {
    expect(numbered("SELECT '$a', $b").text).toBe("SELECT '$a', $1");
  });
});

test("a statement that mixes parameters with and without names is refused", () => {
  expect(() => numbered("SELECT ?, $a")).toThrow("mixed");
});

test("a statement with numbers of its own is refused", () => {
  expect(() => numbered("SELECT $1")).toThrow("$1");
});
