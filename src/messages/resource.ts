import { timestamp } from "../timestamp.ts";
import type { Message, ReactionSummary } from "./schemas.ts";
import type { Author, MessageRow } from "./store.ts";

/** The message as the API and events show it (specification part 2). */
export function messageResource(row: MessageRow, author: Author): Message {
  return {
    id: row.id,
    channel_id: row.channelId,
    body: row.body,
    type: row.type,
    author: { id: author.id, name: author.name, type: author.type },
    reply_to_id: row.replyToId,
    thread_root_id: row.threadRootId,
    reactions: reactionsOf(row),
    created_at: timestamp(row.createdAt),
    edited_at: timestamp(row.editedAt),
    username: row.username,
    icon_url: row.iconUrl,
    sent_to_channel: row.sentToChannel,
  };
}

/** The reaction summary stored in the row, in the order in which each emoji was first used. */
export function reactionsOf(row: Pick<MessageRow, "reactions">): ReactionSummary[] {
  return row.reactions === "[]" ? [] : (JSON.parse(row.reactions) as ReactionSummary[]);
}
