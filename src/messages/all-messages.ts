import { selectLastPosition } from "../channels/store.ts";
import type { Connection } from "../database/database.ts";
import { messageResource } from "./resource.ts";
import type { Message } from "./schemas.ts";
import { selectMessageRange } from "./store.ts";

/** Messages of a channel, and the position of the newest of them, from which reading can go on. */
export type MessagesRead = { messages: Message[]; position: number };

/** Returns the channel's newest messages, oldest first, at most `limit`: for operators, not for subjects. */
export function readLatestMessages(db: Connection, channelId: string, limit: number): MessagesRead {
  const position = selectLastPosition(db, channelId);
  return { messages: range(db, channelId, Math.max(1, position - limit + 1), position), position };
}

/** Returns the channel's messages after the position, oldest first, at most `limit`: for operators, not for subjects. */
export function readMessagesAfter(
  db: Connection,
  channelId: string,
  position: number,
  limit: number,
): MessagesRead {
  const newest = Math.min(selectLastPosition(db, channelId), position + limit);
  return { messages: range(db, channelId, position + 1, newest), position: Math.max(position, newest) };
}

function range(db: Connection, channelId: string, oldest: number, newest: number): Message[] {
  if (newest < oldest) return [];
  return selectMessageRange(db, channelId, oldest, newest)
    .toReversed()
    .map(({ message, author }) => messageResource(message, author));
}
