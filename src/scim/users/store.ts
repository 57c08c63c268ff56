import { and, asc, desc, eq, inArray, isNotNull, type SQL, sql } from "drizzle-orm";
import type { Connection, Transaction } from "../../database/database.ts";
import { prepared } from "../../database/prepared.ts";
import { userEmails, users } from "../../database/schema.ts";
import { caseless, foldCase, inOrder } from "../../database/text.ts";
import type { Email, UserRow } from "../../users/store.ts";
import type { Query } from "../protocol/query.ts";
import { conditionOf, type Tables } from "../protocol/store.ts";

/** The people whom the directory sees. Literally as in the partial indexes, which bound values would not match. */
const isOfDirectory = sql`${users.type} = 'human' AND ${users.removedAt} IS NULL`;

const tablesFor = (engine: Connection["engine"]): Tables => ({
  engine,
  columns: new Map([
    ["id", sql`${users.id}`],
    ["externalId", sql`${users.externalId}`],
    ["userName", caseless(engine, users.userName)],
    ["displayName", caseless(engine, users.name)],
    ["name.formatted", caseless(engine, users.formattedName)],
    ["name.givenName", caseless(engine, users.givenName)],
    ["name.familyName", caseless(engine, users.familyName)],
    ["active", sql`CASE WHEN ${users.deactivatedAt} IS NULL THEN 1 ELSE 0 END`],
    ["meta.created", sql`${users.createdAt}`],
    ["meta.lastModified", sql`${users.updatedAt}`],
  ]),
  lists: new Map([
    [
      "emails",
      (where) =>
        sql`${users.id} IN (SELECT ${userEmails.userId} FROM ${userEmails} WHERE ${where(emailColumnsFor(engine))})`,
    ],
    ["roles", (where) => where(roleColumns)],
  ]),
});

const emailColumnsFor = (engine: Connection["engine"]) =>
  new Map([
    ["value", caseless(engine, userEmails.value)],
    ["type", caseless(engine, userEmails.type)],
    ["primary", sql`${userEmails.isPrimary}`],
  ]);

const roleColumns = new Map([
  ["value", sql`${users.role}`],
  ["primary", sql`1`],
]);

/** The column to sort by; e-mail addresses sort by the primary one. */
function sortColumn(engine: Connection["engine"], path: string): SQL | undefined {
  const isEmail = path === "emails" || path === "emails.value";
  return isEmail ? caseless(engine, users.email) : tablesFor(engine).columns.get(path);
}

/** Returns a page of the team's people, in an order that is the same for all pages. */
export async function selectPeople(db: Connection, teamId: string, query: Query): Promise<UserRow[]> {
  const direction = query.isDescending ? desc : asc;
  const column = query.sortBy === undefined ? undefined : sortColumn(db.engine, query.sortBy);
  return await db
    .select()
    .from(users)
    .where(matching(db, teamId, query))
    .orderBy(...(column ? [inOrder(column, query.isDescending)] : []), direction(users.id))
    .limit(query.count)
    .offset(query.startIndex - 1);
}

/** Counts the people of the team who match the filter. */
export async function countPeople(db: Connection, teamId: string, query: Query): Promise<number> {
  const [row] = await db
    .select({ count: sql<number>`count(*)` })
    .from(users)
    .where(matching(db, teamId, query));
  return row?.count ?? 0;
}

function matching({ engine }: Connection, teamId: string, { filter }: Query): SQL | undefined {
  return and(eq(users.teamId, teamId), isOfDirectory, filter && conditionOf(filter, tablesFor(engine)));
}

const byIdStatement = prepared((db) =>
  db
    .select()
    .from(users)
    .where(
      and(eq(users.teamId, sql.placeholder("teamId")), eq(users.id, sql.placeholder("id")), isOfDirectory),
    )
    .prepare(),
);

export async function selectPerson(db: Connection, teamId: string, id: string): Promise<UserRow | undefined> {
  const [row] = await byIdStatement(db).execute({ teamId, id });
  return row;
}

/** Returns the people of the team with these ids. */
export async function selectPeopleOf(
  db: Connection,
  teamId: string,
  ids: readonly string[],
): Promise<UserRow[]> {
  return await db
    .select()
    .from(users)
    .where(and(eq(users.teamId, teamId), inArray(users.id, [...ids]), isOfDirectory));
}

/** Returns the people whom the directory deleted under this name, latest first. */
export async function selectRemoved(db: Connection, teamId: string, userName: string): Promise<UserRow[]> {
  return await db
    .select()
    .from(users)
    .where(
      and(
        eq(users.teamId, teamId),
        eq(caseless(db.engine, users.userName), foldCase(userName)),
        sql`${users.type} = 'human'`,
        isNotNull(users.removedAt),
      ),
    )
    .orderBy(desc(users.removedAt));
}

/** Returns the e-mail addresses by user id, each person's in their stored order. */
export async function selectEmails(
  db: Connection,
  userIds: readonly string[],
): Promise<Map<string, Email[]>> {
  const rows = await db
    .select()
    .from(userEmails)
    .where(inArray(userEmails.userId, [...userIds]))
    .orderBy(asc(userEmails.userId), asc(userEmails.position));
  const found = new Map<string, Email[]>();
  for (const { userId, value, type, isPrimary } of rows) {
    const emails = found.get(userId) ?? [];
    emails.push({ value, type, isPrimary });
    found.set(userId, emails);
  }
  return found;
}

export async function updatePerson(tx: Transaction, id: string, changes: Partial<UserRow>): Promise<void> {
  await tx.update(users).set(changes).where(eq(users.id, id));
}
