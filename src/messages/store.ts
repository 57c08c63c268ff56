import { and, desc, eq, gte, lte } from "drizzle-orm";
import type { Reading, Writing } from "../database/open.ts";
import { insertInto, parameterOfJoin, prepared } from "../database/prepared.ts";
import { messages, users } from "../database/schema.ts";

export type MessageRow = typeof messages.$inferSelect;
export type Author = { id: string; name: string; type: "human" | "bot" };
export type AuthoredMessage = { message: MessageRow; author: Author };

const author = { id: users.id, name: users.name, type: users.type };

const insert = insertInto(messages);

export function insertMessage(tx: Writing, row: MessageRow): void {
  insert(tx, row);
}

const selectAuthored = (db: Reading) =>
  db.select({ message: messages, author }).from(messages).innerJoin(users, eq(users.id, messages.authorId));

const byId = prepared((db) =>
  selectAuthored(db)
    .where(
      and(
        eq(messages.id, parameterOfJoin("id", "text")),
        eq(messages.channelId, parameterOfJoin("channelId", "text")),
      ),
    )
    .prepare(),
);

export async function selectMessage(
  db: Reading,
  channelId: string,
  id: string,
): Promise<AuthoredMessage | undefined> {
  const [row] = await byId(db).execute({ channelId, id });
  return row;
}

const byClientUuid = prepared((db) =>
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

export async function selectMessageByClientUuid(
  db: Reading,
  key: { channelId: string; authorId: string; clientUuid: string },
): Promise<AuthoredMessage | undefined> {
  const [row] = await byClientUuid(db).execute(key);
  return row;
}

const range = prepared((db) =>
  selectAuthored(db)
    .where(
      and(
        eq(messages.channelId, parameterOfJoin("channelId", "text")),
        gte(messages.position, parameterOfJoin("oldest", "integer")),
        lte(messages.position, parameterOfJoin("newest", "integer")),
      ),
    )
    .orderBy(desc(messages.position))
    .prepare(),
);

/** The messages at the positions from `oldest` to `newest`, newest first. */
export async function selectMessageRange(
  db: Reading,
  channelId: string,
  oldest: number,
  newest: number,
): Promise<AuthoredMessage[]> {
  return await range(db).execute({ channelId, oldest, newest });
}

export async function updateBody(tx: Writing, id: string, body: string, editedAt: number): Promise<void> {
  await tx.update(messages).set({ body, editedAt }).where(eq(messages.id, id));
}

/** Blanks the message; it stays at its position. */
export async function updateToTombstone(tx: Writing, id: string, deletedAt: number): Promise<void> {
  await tx.update(messages).set({ body: "", reactions: "[]", deletedAt }).where(eq(messages.id, id));
}

export async function updateReactions(tx: Writing, id: string, reactions: string): Promise<void> {
  await tx.update(messages).set({ reactions }).where(eq(messages.id, id));
}
