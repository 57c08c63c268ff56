import { and, asc, eq, isNull, or, sql } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { prepared } from "../database/prepared.ts";
import { userEmails, users } from "../database/schema.ts";
import { caseless, foldCase } from "../database/text.ts";
import { actorOf, type Role } from "../subject.ts";
import { now } from "../system/repeatable.ts";

export type UserRow = typeof users.$inferSelect;

/** An e-mail address of a person, as in SCIM: `type` is a word such as `work`; one address is the primary. */
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

/** Returns the user that an actor of the audit log names (see `actorOf`); undefined if it names no user of the team. */
export function selectActor(db: Connection, teamId: string, actor: string): UserRow | undefined {
  const user = byIdStatement(db).get({ teamId, id: actor.slice(actor.indexOf(":") + 1) });
  return user && actorOf(user) === actor ? user : undefined;
}

/** Returns the active users of the team, or with `all` deactivated ones too, of one type or both, by name. */
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

/** Returns every user of the team, deactivated or not, whose id or exact name is `reference`. */
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
  await tx.update(users).set({ role, updatedAt: now() }).where(eq(users.id, id));
}

/** Deactivates the user as of `at`, in milliseconds since 1970, or reactivates it with null. */
export async function updateDeactivatedAt(tx: Transaction, id: string, at: number | null): Promise<void> {
  await tx.update(users).set({ deactivatedAt: at, updatedAt: now() }).where(eq(users.id, id));
}

/** Returns the person of the team with this SCIM `userName`, ignoring case. */
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
        eq(caseless(db.engine, users.userName), foldCase(userName)),
        // Spelled as in the partial index, which SQLite does not use for a bound value.
        sql`${users.type} = 'human'`,
        isNull(users.removedAt),
      ),
    );
  return row;
}

/** Replaces all addresses of the person with these, in this order. */
export async function replaceEmails(
  tx: Transaction,
  userId: string,
  emails: readonly Email[],
): Promise<void> {
  await tx.delete(userEmails).where(eq(userEmails.userId, userId));
  if (emails.length === 0) return;
  await tx.insert(userEmails).values(emails.map((email, position) => ({ ...email, userId, position })));
}

/** Returns an active owner of the team other than the given one, if there is one. */
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
