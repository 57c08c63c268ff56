import { and, eq } from "drizzle-orm";
import type { NewMessage } from "../database/appended.ts";
import { beside } from "../database/beside.ts";
import type { Connection, Transaction } from "../database/database.ts";
import { parameterOfJoin, prepared, query } from "../database/prepared.ts";
import { messages, users } from "../database/schema.ts";
import { columnsOf } from "../database/table-sql.ts";

/** A message, without its position: that is only for ranges of the channel, and nobody is shown it. */
export type MessageRow = NewMessage;
export type Author = { id: string; name: string; type: "human" | "bot" };
export type AuthoredMessage = { message: MessageRow; author: Author };

const author = { id: users.id, name: users.name, type: users.type };

const selectAuthored = (db: Connection) =>
  db.select({ message: messages, author }).from(messages).innerJoin(users, eq(users.id, messages.authorId));

const messageByIdStatement = prepared((db) =>
  selectAuthored(db)
    .where(
      and(
        eq(messages.id, parameterOfJoin("id", "text")),
        eq(messages.channelId, parameterOfJoin("channelId", "text")),
      ),
    )
    .prepare(),
);

/** Returns the message of the channel with its author; undefined when the channel has no such message. */
export function selectMessage(db: Connection, channelId: string, id: string): AuthoredMessage | undefined {
  return messageByIdStatement(db).get({ channelId, id });
}

const messageByClientUuidStatement = prepared((db) =>
  selectAuthored(db)
    .where(
      and(
        eq(messages.channelId, parameterOfJoin("channelId", "text")),
        eq(messages.authorId, parameterOfJoin("authorId", "text")),
        eq(messages.clientUuid, parameterOfJoin("clientUuid", "text")),
      ),
    )
    .prepare(),
);

/**
 * Returns the message that the author sent to the channel under this `client_uuid`, in this commit or before; undefined
 * when there is none.
 */
export function selectMessageByClientUuid(
  tx: Transaction,
  channelId: string,
  author: Author,
  clientUuid: string,
): AuthoredMessage | undefined {
  const message = tx.commit.appended.messages.find(
    (row) => row.clientUuid === clientUuid && row.channelId === channelId && row.authorId === author.id,
  );
  if (message) return { message, author };
  const key = { channelId, authorId: author.id, clientUuid };
  return beside(tx, () => messageByClientUuidStatement(tx).get(key));
}

const positionStatement = query<{ position: number }, [string, string]>(
  "SELECT position FROM messages WHERE id = cast(? AS text) AND channel_id = cast(? AS text)",
);

/** Returns the message's position in its channel; undefined when the channel has no such message. */
export function selectPosition(db: Connection, channelId: string, id: string): number | undefined {
  return positionStatement(db).get(id, channelId)?.position;
}

// No request reads more rows than this one, so it is plain SQL. The casts keep SQLite from planning the join again at
// each call (see `parameterOfJoin`).
const rangeStatement = query<RangeRow, [string, number, number]>(
  `SELECT ${columnsOf(messages, "m")}, users.name AS "authorName", users.type AS "authorType"
   FROM messages AS m JOIN users ON users.id = m.author_id
   WHERE m.channel_id = cast(? AS text)
     AND m.position >= cast(? AS bigint) AND m.position <= cast(? AS bigint)
   ORDER BY m.position DESC`,
);

type RangeRow = Omit<MessageRow, "sentToChannel"> & {
  sentToChannel: 0 | 1;
  authorName: string;
  authorType: Author["type"];
};

/** Returns the messages at the positions from `oldest` to `newest`, inclusive, newest first. */
export function selectMessageRange(
  db: Connection,
  channelId: string,
  oldest: number,
  newest: number,
): AuthoredMessage[] {
  // The rows are used as they are: a copy of each takes as long as reading it.
  return rangeStatement(db)
    .all(channelId, oldest, newest)
    .map((row) => ({
      message: Object.assign(row, { sentToChannel: row.sentToChannel === 1 }),
      author: { id: row.authorId, name: row.authorName, type: row.authorType },
    }));
}

/** Replaces the text. `editedAt` is milliseconds since 1970. */
export async function updateBody(tx: Transaction, id: string, body: string, editedAt: number): Promise<void> {
  await tx.update(messages).set({ body, editedAt }).where(eq(messages.id, id));
}

/** Blanks the message, which keeps its position. `deletedAt` is milliseconds since 1970. */
export async function updateToTombstone(tx: Transaction, id: string, deletedAt: number): Promise<void> {
  await tx.update(messages).set({ body: "", reactions: "[]", deletedAt }).where(eq(messages.id, id));
}

/** Replaces the reactions, given as the JSON that the API shows. */
export async function updateReactions(tx: Transaction, id: string, reactions: string): Promise<void> {
  await tx.update(messages).set({ reactions }).where(eq(messages.id, id));
}

const postedStatement = query<{ posted: number | null }, []>({
  sqlite: "SELECT max(rowid) AS posted FROM messages",
  postgres: "SELECT cast(sum(last_position) AS bigint) AS posted FROM channels",
});

/** A number that grows by one with each message of the workspace. Reads one row, on PostgreSQL one of each channel. */
export function selectMessagesPosted(db: Connection): number {
  return postedStatement(db).get()?.posted ?? 0;
}
