/**
 * Deliveries are divided among nodes by shards of subscriptions, not by subscriptions: an owner holds an advisory lock,
 * and those of all transactions and sessions share one table of PostgreSQL, which has 6,400 places by default.
 */
export const shardCount = 256;

/** The shard of a subscription, or of anything else that one node does. The same on each node and in each version. */
export function shardOf(key: string): number {
  return Bun.hash.xxHash32(key) % shardCount;
}

/**
 * Which of the nodes should own each shard: the one whose id makes the greatest hash with it. When a node comes or goes,
 * only its own shards move. Undefined when there is no node.
 */
export function ownersOf(nodeIds: readonly string[]): Array<string | undefined> {
  return Array.from({ length: shardCount }, (_, shard) => {
    let owner: string | undefined;
    let greatest = -1;
    for (const id of nodeIds) {
      const hash = Bun.hash.xxHash32(`${shard} ${id}`);
      if (hash > greatest || (hash === greatest && owner !== undefined && id > owner)) {
        owner = id;
        greatest = hash;
      }
    }
    return owner;
  });
}
