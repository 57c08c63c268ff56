import { and, asc, eq, isNull, or, sql } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { prepared } from "../database/prepared.ts";
import { userEmails, users } from "../database/schema.ts";
import { actorOf, type Role } from "../subject.ts";

export type UserRow = typeof users.$inferSelect;

/** An e-mail address of a person, as a directory writes them: with a type such as `work`, one of them the primary one. */
export type Email = Pick<typeof userEmails.$inferSelect, "value" | "type" | "isPrimary">;

export async function insertUser(tx: Transaction, row: UserRow): Promise<void> {
  await tx.insert(users).values(row);
}

const byIdStatement = prepared((db) =>
  db
    .select()
    .from(users)
    .where(and(eq(users.teamId, sql.placeholder("teamId")), eq(users.id, sql.placeholder("id"))))
    .prepare(),
);

export async function selectUser(db: Connection, teamId: string, id: string): Promise<UserRow | undefined> {
  const [row] = await byIdStatement(db).execute({ teamId, id });
  return row;
}

/** The user that the audit log calls by this name, as `actorOf` makes it; undefined for whoever is no user of the team. */
export function selectActor(db: Connection, teamId: string, actor: string): UserRow | undefined {
  const user = byIdStatement(db).get({ teamId, id: actor.slice(actor.indexOf(":") + 1) });
  return user && actorOf(user) === actor ? user : undefined;
}

/** The active users of the team, or all with `all`, of one type or both. */
export async function selectUsers(
  db: Connection,
  teamId: string,
  filter: { type?: "human" | "bot"; all?: boolean },
): Promise<UserRow[]> {
  return await db
    .select()
    .from(users)
    .where(
      and(
        eq(users.teamId, teamId),
        filter.type === undefined ? undefined : eq(users.type, filter.type),
        filter.all ? undefined : isNull(users.deactivatedAt),
      ),
    )
    .orderBy(asc(users.name), asc(users.id));
}

/** Every user of the team whose id or exact name is `reference`. */
export async function selectUsersNamed(
  db: Connection,
  teamId: string,
  reference: string,
): Promise<UserRow[]> {
  return await db
    .select()
    .from(users)
    .where(
      and(eq(users.teamId, teamId), or(eq(users.id, reference.toLowerCase()), eq(users.name, reference))),
    )
    .orderBy(asc(users.id));
}

export async function updateRole(tx: Transaction, id: string, role: Role): Promise<void> {
  await tx.update(users).set({ role, updatedAt: Date.now() }).where(eq(users.id, id));
}

export async function updateDeactivatedAt(tx: Transaction, id: string, at: number | null): Promise<void> {
  await tx.update(users).set({ deactivatedAt: at, updatedAt: Date.now() }).where(eq(users.id, id));
}

/** The person of the team whom a directory finds by this name, in whatever case it is written. */
export async function selectUserByUserName(
  db: Connection,
  teamId: string,
  userName: string,
): Promise<UserRow | undefined> {
  const [row] = await db
    .select()
    .from(users)
    .where(
      and(
        eq(users.teamId, teamId),
        eq(users.userName, userName),
        // To the letter of the index, which holds for no bound value.
        sql`${users.type} = 'human'`,
        isNull(users.removedAt),
      ),
    );
  return row;
}

/** Gives the person these addresses, in this order, in the place of those there were. */
export async function replaceEmails(
  tx: Transaction,
  userId: string,
  emails: readonly Email[],
): Promise<void> {
  await tx.delete(userEmails).where(eq(userEmails.userId, userId));
  if (emails.length === 0) return;
  await tx.insert(userEmails).values(emails.map((email, position) => ({ ...email, userId, position })));
}

/** An active owner of the team other than the given one, where there is one. */
export async function selectOtherOwner(
  db: Connection,
  teamId: string,
  id: string,
): Promise<UserRow | undefined> {
  const [row] = await db
    .select()
    .from(users)
    .where(
      and(
        eq(users.teamId, teamId),
        eq(users.role, "owner"),
        isNull(users.deactivatedAt),
        sql`${users.id} <> ${id}`,
      ),
    )
    .limit(1);
  return row;
}
