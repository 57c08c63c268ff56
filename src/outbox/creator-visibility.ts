import { canSeeChannel } from "../channels/access.ts";
import type { Connection } from "../database/database.ts";
import { cached } from "../database/cached.ts";
import { selectActor } from "../users/store.ts";
import { selectCreator } from "./event-store.ts";

/**
 * With `WEBHOOKS_VISIBILITY=creator` a subscription receives only events that its creator may see, both when the event
 * happens and again when it is sent (a decision of this project; the specification only has the whole workspace). Who
 * may see what is decided in `channels/access.ts`; this file decides as whom to ask.
 */

/** A viewer who is in no channel and so sees only open ones: for a subscription whose creator is unknown. */
const outsider = { id: "", type: "human" } as const;

/**
 * The viewer for subscriptions of this creator: a user, `all` for anybody with access to the data folder, or `none`.
 */
const viewerOf = cached((db, teamId: string, createdBy: string) => {
  if (createdBy === "") return { ...outsider, teamId, deactivatedAt: null };
  if (createdBy.startsWith("cli:")) return "all";
  return selectActor(db, teamId, createdBy) ?? "none";
});

/**
 * Whether events in the channel are for subscriptions of this creator, which is given as in the audit log, or null
 * when unknown. Always true unless deliveries depend on creators. Deactivated and deleted users see nothing. `at`, in
 * milliseconds since 1970, asks about that time as far as it is known: users who joined later could not see the
 * channel, and users who were deactivated later could.
 */
export function isForCreator(
  db: Connection,
  { teamId, createdBy }: { teamId: string; createdBy: string | null },
  channelId: string,
  at = Infinity,
): boolean {
  if (db.webhooksVisibility === "workspace") return true;
  const viewer = viewerOf(db, teamId, createdBy ?? "");
  if (viewer === "all" || viewer === "none") return viewer === "all";
  if (viewer.deactivatedAt !== null && viewer.deactivatedAt <= at) return false;
  return canSeeChannel(db, viewer, channelId, at);
}

/** The subscriptions that may receive events in the channel now, or those that happened there at the time `at`. */
export function filterAllowed(
  db: Connection,
  subscriptionIds: readonly string[],
  channelId: string,
  at?: number,
): readonly string[] {
  if (db.webhooksVisibility === "workspace") return subscriptionIds;
  return subscriptionIds.filter((id) => isAllowed(db, id, channelId, at));
}

/** Whether an event that was queued or sent earlier must not be sent to the subscription now. */
export function isWithheld(db: Connection, subscriptionId: string, envelope: string): boolean {
  if (db.webhooksVisibility === "workspace") return false;
  const { data } = JSON.parse(envelope) as { data: { channel_id: string } };
  return !isAllowed(db, subscriptionId, data.channel_id);
}

function isAllowed(db: Connection, subscriptionId: string, channelId: string, at?: number): boolean {
  const creator = selectCreator(db, subscriptionId);
  return creator !== undefined && isForCreator(db, creator, channelId, at);
}
