import { expect, test } from "bun:test";
import { descriptorShares } from "../src/descriptors.ts";

test.each([
  [64, 16, 15],
  [256, 64, 60],
  [1_024, 256, 240],
  [1_048_576, 256, 240],
])("of %i descriptors %i are kept back, and deliveries get %i", (limit, keptBack, deliveries) => {
  expect(descriptorShares(limit)).toEqual({ keptBack, deliveries });
});

test("what the system gives is asked for, where nothing else is said", () => {
  const { keptBack, deliveries } = descriptorShares();
  expect(keptBack).toBeGreaterThan(deliveries);
  expect(deliveries).toBeGreaterThan(0);
});
