import { expect, test } from "bun:test";
import { withoutValues } from "../../src/deliveries/hidden-values.ts";

function shown(response: string, value: string): string {
  return Buffer.from(withoutValues(Buffer.from(response), { "x-a": value })).toString();
}

test.each([
  [
    "whole, though each of its words is short",
    "pony 4 me now",
    "no pony 4 me now, please",
    "no (hidden), please",
  ],
  ["without its scheme", "Bearer abcdefgh1", '{"token":"abcdefgh1"}', '{"token":"(hidden)"}'],
  [
    "as a cookie that was parsed",
    "a=abcdefgh1; b=ijklmnop2",
    '{"a":"abcdefgh1","b":"ijklmnop2"}',
    '{"a":"(hidden)","b":"(hidden)"}',
  ],
  [
    "as a parameter in quotes",
    'Token token="abcdefgh1"',
    "no such token: abcdefgh1",
    "no such token: (hidden)",
  ],
  [
    "as the password of a login",
    "ci:abcdefgh1",
    "ci cannot log in with abcdefgh1",
    "ci cannot log in with (hidden)",
  ],
  ["in JSON", 'abc"def\\ghi', '["abc\\"def\\\\ghi"]', '["(hidden)"]'],
  ["in JSON as PHP writes it", "abcd/efgh+ij", '["abcd\\/efgh+ij"]', '["(hidden)"]'],
  ["in a query", "abcd/efgh+ij", "?key=abcd%2Fefgh%2Bij", "?key=(hidden)"],
  ["in HTML", "abcd&efgh<ij", "<b>abcd&amp;efgh&lt;ij</b>", "<b>(hidden)</b>"],
  ["cut off where it repeats itself", "abababababababababab", "it is abababababababab", "it is (hidden)"],
])("a value that a receiver repeats is hidden %s", (_what, value, response, expected) => {
  expect(shown(response, value)).toBe(expected);
});

test("what is no value stays, byte for byte", () => {
  const response = Buffer.from([0xff, 0x00, 0xc3, 0xa9, 0x61]);
  expect(withoutValues(response, { "x-a": "abcdefgh1" })).toEqual(response);
  expect(shown("application of json", "application/json")).toBe("application of json");
});
