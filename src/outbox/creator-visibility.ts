import { canSeeChannel } from "../channels/visibility.ts";
import type { Connection } from "../database/database.ts";
import { cached } from "../database/cached.ts";
import { selectActor } from "../users/store.ts";
import { selectCreator } from "./event-store.ts";

/**
 * With `WEBHOOKS_VISIBILITY=creator` a subscription is told of what its creator may see, when the event happens
 * and again when it is sent (decisions of this project; the specification knows the whole workspace only). What
 * anybody may see is decided in `channels/visibility.ts`; here is whose eyes those are.
 */

/** One who is in no channel, and so sees the open ones: for a subscription of which nobody knows who made it. */
const stranger = { id: "", type: "human" } as const;

/** Who looks for the subscriptions of this creator: a user, everybody who may work on the data folder, or nobody. */
const eyesOf = cached((db, teamId: string, createdBy: string) => {
  if (createdBy === "") return { ...stranger, teamId, deactivatedAt: null };
  if (createdBy.startsWith("cli:")) return "all";
  return selectActor(db, teamId, createdBy) ?? "none";
});

/**
 * Whether what happens in the channel is for the subscriptions of this creator, given as the audit log names them or null
 * where nobody knows: always where deliveries do not go by creators. Who was deactivated or deleted sees nothing. With `at`,
 * in milliseconds since 1970, it is asked of then, as far as it can be told: who joined later did not see it, and who was
 * deactivated later did.
 */
export function isForCreator(
  db: Connection,
  { teamId, createdBy }: { teamId: string; createdBy: string | null },
  channelId: string,
  at = Infinity,
): boolean {
  if (db.webhooksVisibility === "workspace") return true;
  const eyes = eyesOf(db, teamId, createdBy ?? "");
  if (eyes === "all" || eyes === "none") return eyes === "all";
  if (eyes.deactivatedAt !== null && eyes.deactivatedAt <= at) return false;
  return canSeeChannel(db, eyes, channelId, at);
}

/** Those of the subscriptions that may be told of what happens in the channel now, or happened in it `at` that time. */
export function onlySeeing(
  db: Connection,
  subscriptionIds: readonly string[],
  channelId: string,
  at?: number,
): readonly string[] {
  if (db.webhooksVisibility === "workspace") return subscriptionIds;
  return subscriptionIds.filter((id) => sees(db, id, channelId, at));
}

/** Whether the event, which was queued or sent before, must not be sent to the subscription now. */
export function isWithheld(db: Connection, subscriptionId: string, envelope: string): boolean {
  if (db.webhooksVisibility === "workspace") return false;
  const { data } = JSON.parse(envelope) as { data: { channel_id: string } };
  return !sees(db, subscriptionId, data.channel_id);
}

function sees(db: Connection, subscriptionId: string, channelId: string, at?: number): boolean {
  const creator = selectCreator(db, subscriptionId);
  return creator !== undefined && isForCreator(db, creator, channelId, at);
}
