import type { AuditEntry } from "../audit/audit.ts";
import { selectChannel } from "../channels/store.ts";
import type { Connection } from "../database/database.ts";
import { subscriptionResource } from "../subscriptions/resource.ts";
import { selectAsking } from "./account-store.ts";
import type { SubscriptionRow } from "../subscriptions/store.ts";
import { timestamp } from "../timestamp.ts";

/** An event as far as it decides who gets it. `seq` is undefined when it was not stored. */
export type Subject = {
  seq: number | undefined;
  id: string | null;
  type: string;
  createdAt: number;
  channelId: string;
};

/** Why the subscription does not get the event; undefined if it does. */
export function whyNotAsked(
  db: Connection,
  { seq, type, createdAt, channelId }: Subject,
  row: SubscriptionRow,
  entries: readonly AuditEntry[],
): string | undefined {
  if (row.createdAt > createdAt) return `it was created later, at ${timestamp(row.createdAt)}`;
  const edit = entries.findLast(({ action }) => action === "webhook.edited");
  const isEdited = edit !== undefined && Date.parse(edit.at) >= createdAt;
  const { events, channel_ids } = subscriptionResource(row);
  if (!events.some((event) => event === type)) return `it asks for ${events.join(", ")}`;
  if (channel_ids !== null && !channel_ids.includes(channelId)) {
    const names = channel_ids.map((id) => selectChannel(db, row.teamId, id)?.name ?? id);
    return `it asks for ${names.map((name) => `#${name}`).join(", ")}`;
  }
  const asking = selectAsking(db, row.teamId, type, channelId).find(
    ({ subscriptionId }) => subscriptionId === row.id,
  );
  if (isEdited && seq !== undefined && asking && asking.afterEvent >= seq)
    return `what it asks for was changed later, at ${edit.at}`;
  if (row.url === "") return "it has no URL: its events are read, and nothing is sent";
  // Nobody asked for it then, or the event would be stored.
  return seq === undefined ? "nobody asked for it when it happened, so it was not stored" : undefined;
}
