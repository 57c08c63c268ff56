import { and, eq } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { parameterOfJoin, prepared, query } from "../database/prepared.ts";
import { messages, users } from "../database/schema.ts";
import { columnsOf, insertInto } from "../database/table-sql.ts";

export type MessageRow = typeof messages.$inferSelect;
export type Author = { id: string; name: string; type: "human" | "bot" };
export type AuthoredMessage = { message: MessageRow; author: Author };

const author = { id: users.id, name: users.name, type: users.type };

const insertStatement = insertInto(messages);

/** Adds a message to its channel. */
export function insertMessage(tx: Transaction, row: MessageRow): void {
  insertStatement(tx, row);
}

const selectAuthored = (db: Connection) =>
  db.select({ message: messages, author }).from(messages).innerJoin(users, eq(users.id, messages.authorId));

const byIdStatement = prepared((db) =>
  selectAuthored(db)
    .where(
      and(
        eq(messages.id, parameterOfJoin("id", "text")),
        eq(messages.channelId, parameterOfJoin("channelId", "text")),
      ),
    )
    .prepare(),
);

export function selectMessage(db: Connection, channelId: string, id: string): AuthoredMessage | undefined {
  return byIdStatement(db).get({ channelId, id });
}

const byClientUuidStatement = prepared((db) =>
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

export function selectMessageByClientUuid(
  db: Connection,
  key: { channelId: string; authorId: string; clientUuid: string },
): AuthoredMessage | undefined {
  return byClientUuidStatement(db).get(key);
}

// The most rows that any request reads. To a bare parameter SQLite would fit the plan anew at each call (see
// `parameterOfJoin`).
const rangeStatement = query<RangeRow, [string, number, number]>(
  `SELECT ${columnsOf(messages, "m")}, users.name AS authorName, users.type AS authorType
   FROM messages AS m JOIN users ON users.id = m.author_id
   WHERE m.channel_id = cast(? AS text)
     AND m.position >= cast(? AS integer) AND m.position <= cast(? AS integer)
   ORDER BY m.position DESC`,
);

type RangeRow = Omit<MessageRow, "sentToChannel"> & {
  sentToChannel: 0 | 1;
  authorName: string;
  authorType: Author["type"];
};

/** The messages at the positions from `oldest` to `newest`, newest first. */
export function selectMessageRange(
  db: Connection,
  channelId: string,
  oldest: number,
  newest: number,
): AuthoredMessage[] {
  return rangeStatement(db)
    .all(channelId, oldest, newest)
    .map(({ authorName, authorType, ...row }) => ({
      message: { ...row, sentToChannel: row.sentToChannel === 1 },
      author: { id: row.authorId, name: authorName, type: authorType },
    }));
}

export async function updateBody(tx: Transaction, id: string, body: string, editedAt: number): Promise<void> {
  await tx.update(messages).set({ body, editedAt }).where(eq(messages.id, id));
}

/** Blanks the message; it stays at its position. */
export async function updateToTombstone(tx: Transaction, id: string, deletedAt: number): Promise<void> {
  await tx.update(messages).set({ body: "", reactions: "[]", deletedAt }).where(eq(messages.id, id));
}

export async function updateReactions(tx: Transaction, id: string, reactions: string): Promise<void> {
  await tx.update(messages).set({ reactions }).where(eq(messages.id, id));
}
