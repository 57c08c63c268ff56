import { expect, test } from "bun:test";
import { NumberSet } from "../../src/deliveries/number-set.ts";

test("a set contains exactly the numbers that were added, from its first to its last", () => {
  const set = new NumberSet(1_000, 1_020);
  const added = [1_000, 1_007, 1_008, 1_020];
  for (const number of added) set.add(number);
  const range = Array.from({ length: 100 }, (_, n) => 960 + n);
  expect(range.filter((number) => set.has(number))).toEqual(added);
});

test("a number outside the range is ignored and does not affect the others", () => {
  const set = new NumberSet(1_000, 1_020);
  for (const number of [0, 999, 1_100, 2 ** 40, -1]) set.add(number);
  expect(Array.from({ length: 2_000 }, (_, number) => number).filter((number) => set.has(number))).toEqual(
    [],
  );
});
