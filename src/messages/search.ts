import type { Connection } from "../database/database.ts";
import { query } from "../database/prepared.ts";
import { partOfId, theOnlyWithId } from "../input/reference.ts";

/** Where a message is, and when something happened to it, in milliseconds since 1970. */
export type FoundMessage = {
  id: string;
  channelId: string;
  createdAt: number;
  editedAt: number | null;
  deletedAt: number | null;
};

/** How many of the newest messages are searched for one whose id ends with given digits. */
const searchedMax = 100_000;

/** The most messages that a reference is compared with: one more than can be shown of an ambiguous one. */
const foundMax = 11;

const columns = `messages.id, messages.channel_id AS "channelId", messages.created_at AS "createdAt",
  messages.edited_at AS "editedAt", messages.deleted_at AS "deletedAt"`;

// `g` comes after every digit and hyphen.
const startStatement = query<FoundMessage, [string, string, string, number]>(
  `SELECT ${columns} FROM messages JOIN channels ON channels.id = messages.channel_id
   WHERE messages.id >= cast(? AS text) AND messages.id < cast(? AS text) || 'g'
     AND channels.team_id = cast(? AS text)
   ORDER BY messages.id DESC LIMIT ?`,
);

const endStatement = query<FoundMessage, [number, string, string, number]>(
  `SELECT ${columns} FROM (SELECT id FROM messages ORDER BY id DESC LIMIT ?) AS newest
   JOIN messages ON messages.id = newest.id JOIN channels ON channels.id = messages.channel_id
   WHERE newest.id LIKE '%' || cast(? AS text) AND channels.team_id = cast(? AS text) LIMIT ?`,
);

/**
 * Returns the team's message that a command's argument refers to: by its id, or the start or end of that. The end is
 * looked for among the newest 100,000 messages.
 * @throws DomainError `not_found`; `conflict`, with the ids, when it may mean several.
 */
export function findMessage(db: Connection, teamId: string, reference: string): FoundMessage {
  return theOnlyWithId(messagesReferredTo(db, teamId, reference), "message", reference);
}

/** Returns the team's messages that the reference may mean; none if it is no part of an id. */
export function messagesReferredTo(db: Connection, teamId: string, reference: string): FoundMessage[] {
  const part = partOfId(reference);
  if (!part) return [];
  const beginning = startStatement(db).all(part.start, part.start, teamId, foundMax);
  const ending = endStatement(db).all(searchedMax, part.end, teamId, foundMax);
  return [...new Map([...beginning, ...ending].map((message) => [message.id, message])).values()];
}

const reactionsStatement = query<{ at: number }, [string, number]>(
  "SELECT DISTINCT created_at AS at FROM reactions WHERE message_id = ? ORDER BY created_at LIMIT ?",
);

/** How many moments at which somebody reacted to a message are told. */
const reactionsMax = 20;

/** When something is known to have happened to the message after it was posted, in milliseconds since 1970. */
export function timesOf(db: Connection, { id, editedAt, deletedAt }: FoundMessage): number[] {
  const reacted = reactionsStatement(db)
    .all(id, reactionsMax)
    .map(({ at }) => at);
  return [editedAt, deletedAt, ...reacted].filter((at) => at !== null);
}
