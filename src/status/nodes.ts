import type { Connections } from "../database/postgres/connections.ts";
import { shardOf } from "../nodes/shards.ts";
import { selectHeldShards, selectNodes } from "../nodes/store.ts";
import { timestamp } from "../timestamp.ts";

/** A server of a workspace on PostgreSQL, named as in JSON. */
export type NodeStatus = {
  host: string;
  url: string;
  version: string;
  pid: number;
  started_at: string;
  /** Whether it makes deliveries; false with `INTEGRATIONS_ENABLED=false`, and while it stops. */
  delivers: boolean;
  /** How many of the active subscriptions it delivers to. */
  subscriptions: number;
  /** How long ago it was heard from, in milliseconds. */
  silent_ms: number;
};

/** The servers that are alive, oldest first, with what each owns of the subscriptions. */
export async function nodesOf(
  connections: Pick<Connections, "query">,
  subscriptionIds: readonly string[],
): Promise<NodeStatus[]> {
  const [nodes, shards] = await Promise.all([selectNodes(connections), selectHeldShards(connections)]);
  const owners = new Map(shards.map(({ shard, node }) => [shard, node]));
  const owned = Map.groupBy(subscriptionIds, (id) => owners.get(shardOf(id)));
  return nodes.map((node) => ({
    host: node.hostName,
    url: node.url,
    version: node.version,
    pid: node.pid,
    started_at: timestamp(node.startedAt),
    delivers: node.delivers,
    subscriptions: owned.get(node.number)?.length ?? 0,
    silent_ms: Math.max(0, node.silentMs),
  }));
}
