import type { Connection } from "../database/database.ts";
import { query } from "../database/prepared.ts";
import type { MessageRow } from "../messages/store.ts";

/** A message as it is now; `body` is its beginning. */
export type PastMessage = Pick<
  MessageRow,
  "id" | "channelId" | "type" | "body" | "reactions" | "createdAt" | "editedAt" | "deletedAt"
>;

const newestStatement = query<PastMessage, [string, number]>(
  `SELECT id, channel_id AS "channelId", type, substr(body, 1, 200) AS body, reactions,
     created_at AS "createdAt", edited_at AS "editedAt", deleted_at AS "deletedAt"
   FROM messages WHERE id >= cast(? AS text) ORDER BY id DESC LIMIT ?`,
);

/** The newest messages of all teams whose ids are not before `from`, at most `limit`, newest first. */
export function selectNewestMessages(db: Connection, from: string, limit: number): PastMessage[] {
  return newestStatement(db).all(from, limit);
}
