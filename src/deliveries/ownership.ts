import type { Node } from "../nodes/node.ts";
import type { Queue } from "./queue.ts";

/** What divides the subscriptions among the servers of one database. A server that is alone needs none. */
export type Ownership = Pick<Node, "owns" | "begin" | "end" | "tell">;

/** Returns those of the subscriptions that this server owns, and tells the owners of the others that they have work. */
export function ownedOf(
  ownership: Ownership | undefined,
  subscriptionIds: Iterable<string>,
): Iterable<string> {
  if (!ownership) return subscriptionIds;
  const { true: owned = [], false: others = [] } = Object.groupBy(subscriptionIds, (id) =>
    ownership.owns(id) ? "true" : "false",
  );
  ownership.tell(others);
  return owned;
}

/** Returns `work` as the owner does it: not at all once another server owns the subscription, or is about to. */
export function asOwner(ownership: Ownership | undefined, work: Queue["work"]): Queue["work"] {
  if (!ownership) return work;
  return async (job, report) => {
    if (!ownership.begin(job.subscriptionId)) return undefined;
    try {
      return await work(job, report);
    } finally {
      ownership.end(job.subscriptionId);
    }
  };
}
