import { expect, test } from "bun:test";
import { descriptorShares } from "../../src/system/descriptors.ts";

test.each([
  [64, 16, 15],
  [256, 64, 60],
  [1_024, 256, 240],
  [4_096, 256, 960],
  [1_048_576, 256, 245_760],
])("of %i descriptors %i are kept back, and deliveries get %i", (limit, keptBack, deliveries) => {
  expect(descriptorShares(limit)).toEqual({ keptBack, deliveries });
});

test("the system's limit is used unless another one is given", () => {
  const { keptBack, deliveries } = descriptorShares();
  expect(keptBack).toBeGreaterThan(0);
  expect(deliveries).toBeGreaterThanOrEqual(Math.floor((keptBack * 15) / 16));
});
