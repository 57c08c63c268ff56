import { type ListedChannel, listAllChannels } from "../channels/channels.ts";
import type { Connection } from "../database/database.ts";
import type { WebhookEvent } from "../event-types.ts";
import { reactionsOf } from "../messages/resource.ts";
import { isForCreator } from "../outbox/creator-visibility.ts";
import { firstIdAt } from "../system/first-id.ts";
import { timestamp } from "../timestamp.ts";
import { filtersOf } from "./filters.ts";
import { type PastMessage, selectNewestMessages } from "./preview-store.ts";

/** A past event that would have matched. */
export type PreviewedEvent = {
  event_type: WebhookEvent;
  channel_id: string;
  channel: Pick<ListedChannel, "name" | "is_direct">;
  message_id: string;
  message_created_at: string;
  /** The beginning of the message; null outside of public channels. */
  text: string | null;
};

/** What a subscription would have received. */
export type Preview = {
  /** The messages that were looked at, of all channels, were posted since then. */
  since: string;
  messages_looked_at: number;
  /** Whether there were too many messages to go back as far as was asked for. */
  is_cut: boolean;
  events: number;
  /** How many of the events by their types. */
  by_type: Partial<Record<WebhookEvent, number>>;
  in_private_channels: number;
  in_direct_messages: number;
  /** Some of the newest. */
  sample: PreviewedEvent[];
};

/** What a subscription asks for, and since when its events are counted, in milliseconds since 1970. */
export type PreviewQuery = {
  teamId: string;
  createdBy: string;
  events: readonly WebhookEvent[];
  channelIds: readonly string[] | null;
  since: number;
};

/** The most messages that are looked at: they take a fraction of a second. */
const messagesMax = 10_000;

const sampleMax = 5;

/**
 * Counts the past events that a subscription would have received. Events are stored only if somebody asks for them when
 * they happen, so they are counted from the messages that were posted in that time, at most the newest 10,000: as these are
 * now, so all edits of a message are one event, and reactions that were removed are none.
 */
export async function previewSubscription(db: Connection, asked: PreviewQuery): Promise<Preview> {
  const { teamId, createdBy, since } = asked;
  const channels = new Map((await listAllChannels(db, teamId)).map((channel) => [channel.id, channel]));
  const wanted = new Set(
    filtersOf(asked.events, asked.channelIds).map(({ eventType, channelId }) => `${eventType} ${channelId}`),
  );
  const rows = selectNewestMessages(db, firstIdAt(since), messagesMax);
  const isCut = rows.length === messagesMax;
  const preview: Preview = {
    since: timestamp(isCut ? (rows.at(-1)?.createdAt ?? since) : since),
    messages_looked_at: 0,
    is_cut: isCut,
    events: 0,
    by_type: {},
    in_private_channels: 0,
    in_direct_messages: 0,
    sample: [],
  };
  for (const row of rows) {
    const channel = channels.get(row.channelId);
    if (!channel) continue;
    preview.messages_looked_at++;
    if (!isForCreator(db, { teamId, createdBy }, channel.id)) continue;
    for (const [type, count] of eventsOf(row)) {
      if (count === 0 || !(wanted.has(`${type} `) || wanted.has(`${type} ${channel.id}`))) continue;
      preview.events += count;
      preview.by_type[type] = (preview.by_type[type] ?? 0) + count;
      if (channel.is_direct) preview.in_direct_messages += count;
      else if (channel.visibility === "private") preview.in_private_channels += count;
      if (preview.sample.length < sampleMax) preview.sample.push(previewedEvent(type, row, channel));
    }
  }
  return preview;
}

/** The events that the message shows to have happened, and how many of each. */
function eventsOf(row: PastMessage): Array<[type: WebhookEvent, count: number]> {
  return [
    ["message.created", 1],
    ["channel.member_added", row.type === "member_joined" ? 1 : 0],
    ["message.updated", row.editedAt === null ? 0 : 1],
    ["message.deleted", row.deletedAt === null ? 0 : 1],
    ["reaction.added", reactionsOf(row).reduce((sum, { count }) => sum + count, 0)],
  ];
}

function previewedEvent(type: WebhookEvent, row: PastMessage, channel: ListedChannel): PreviewedEvent {
  const isOpen = channel.visibility === "public" && !channel.is_direct;
  return {
    event_type: type,
    channel_id: channel.id,
    channel: { name: channel.name, is_direct: channel.is_direct },
    message_id: row.id,
    message_created_at: timestamp(row.createdAt),
    text: isOpen ? row.body : null,
  };
}
