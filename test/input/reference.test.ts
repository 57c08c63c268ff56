import { describe, expect, test } from "bun:test";
import { partOfId, theOnlyWithId } from "../../src/input/reference.ts";

const rows = [
  { id: "0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f", name: "one" },
  { id: "0199e7a4-5c1b-7e2a-8d3f-6b8a1c2dcafe", name: "two" },
  { id: "0199ffff-0000-7000-8000-00000199e7a4", name: "three" },
];

const found = (reference: string) => theOnlyWithId(rows, "token", reference).name;

describe("an id may be given", () => {
  test.each([
    ["whole", "0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f", "one"],
    ["in capitals", "0199E7A4-5C1B-7E2A-9D3F-6B8A1C2D4E5F", "one"],
    ["by its start", "0199ff", "three"],
    ["by its start, up to a hyphen", "0199e7a4-5c1b-7e2a-9", "one"],
    ["by its end", "cafe", "two"],
    ["by its end, over a hyphen", "8d3f-6b8a1c2dcafe", "two"],
    ["without hyphens", "0199e7a45c1b7e2a9d3f6b8a1c2d4e5f", "one"],
    ["by its end without hyphens", "3f6b8a1c2d4e5f", "one"],
  ])("%s", (_, reference, name) => {
    expect(found(reference)).toBe(name);
  });
});

test("what begins one id and ends another is ambiguous, and the candidates are named", () => {
  expect(() => found("0199e7a4")).toThrow(
    'More than one token has an id that begins or ends with "0199e7a4". Write more of it: ' +
      rows.map(({ id, name }) => `${id} (${name})`).join(", "),
  );
});

test("of many candidates ten are named", () => {
  const many = Array.from({ length: 12 }, (_, index) => ({ id: `0199e7a4-${index}` }));
  expect(() => theOnlyWithId(many, "attempt", "0199")).toThrow(/0199e7a4-9, and others$/);
});

test.each(["", "abc", "fa-ce-", "latest", "0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f0", "%%%%", "____"])(
  "%j is no part of an id unless it has four to 32 hexadecimal digits",
  (text) => {
    expect(partOfId(text) !== undefined).toBe(text === "fa-ce-");
    expect(() => theOnlyWithId(rows, "token", text)).toThrow(`There is no token ${JSON.stringify(text)}.`);
  },
);
