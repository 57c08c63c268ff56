import { expect, test } from "bun:test";
import { ownersOf, shardCount, shardOf } from "../../src/nodes/shards.ts";

test("nodes share the shards about equally", () => {
  const ids = [1, 2, 3].map(() => Bun.randomUUIDv7());
  const owners = ownersOf(ids);
  expect(owners).toHaveLength(shardCount);
  // 85 on average; less than half of that would be one chance in a million.
  for (const id of ids) expect(owners.filter((owner) => owner === id).length).toBeGreaterThan(42);
});

test("the order in which nodes are known does not matter", () => {
  const ids = [1, 2, 3, 4, 5].map(() => Bun.randomUUIDv7());
  expect(ownersOf(ids.toReversed())).toEqual(ownersOf(ids));
});

test("only the shards of a node that leaves move", () => {
  const ids = [1, 2, 3].map(() => Bun.randomUUIDv7());
  const before = ownersOf(ids);
  const after = ownersOf(ids.slice(1));
  for (const [shard, owner] of before.entries()) {
    if (owner === ids[0]) expect(after[shard]).not.toBe(owner);
    else expect(after[shard]).toBe(owner);
  }
});

test("without nodes a shard has no owner", () => {
  expect(new Set(ownersOf([]))).toEqual(new Set([undefined]));
});

test("subscriptions fall into all shards", () => {
  const shards = new Set(Array.from({ length: 10_000 }, () => shardOf(Bun.randomUUIDv7())));
  expect(shards.size).toBe(shardCount);
});
