import { and, eq, isNull, sql } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { prepared } from "../database/prepared.ts";
import { channelMembers, users } from "../database/schema.ts";
import type { UserRow } from "../users/store.ts";

const membershipStatement = prepared((db) =>
  db
    .select({ joinedAt: channelMembers.joinedAt })
    .from(channelMembers)
    .where(
      and(
        eq(channelMembers.channelId, sql.placeholder("channelId")),
        eq(channelMembers.userId, sql.placeholder("userId")),
      ),
    )
    .prepare(),
);

export function isMember(db: Connection, channelId: string, userId: string): boolean {
  return selectJoinedAt(db, channelId, userId) !== undefined;
}

/** When the user joined, in milliseconds since 1970; undefined for a user who is not in the channel. */
export function selectJoinedAt(db: Connection, channelId: string, userId: string): number | undefined {
  return membershipStatement(db).get({ channelId, userId })?.joinedAt;
}

/** Adds the member, joined at `at` in milliseconds since 1970, unless already there. Returns whether it did. */
export async function insertMember(
  tx: Transaction,
  channelId: string,
  userId: string,
  at: number,
): Promise<boolean> {
  const added = await tx
    .insert(channelMembers)
    .values({ channelId, userId, joinedAt: at })
    .onConflictDoNothing()
    .returning({ userId: channelMembers.userId });
  return added.length > 0;
}

export async function deleteMember(tx: Transaction, channelId: string, userId: string): Promise<void> {
  await tx
    .delete(channelMembers)
    .where(and(eq(channelMembers.channelId, channelId), eq(channelMembers.userId, userId)));
}

/** Returns the active members of the channel, in no particular order. */
export async function selectMembers(db: Connection, channelId: string): Promise<UserRow[]> {
  const rows = await db
    .select({ user: users })
    .from(channelMembers)
    .innerJoin(users, eq(users.id, channelMembers.userId))
    .where(and(eq(channelMembers.channelId, channelId), isNull(users.deactivatedAt)));
  return rows.map(({ user }) => user);
}
