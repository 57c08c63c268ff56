import type { Connection, Transaction } from "../database/database.ts";
import { forbidden, notFound } from "../errors.ts";
import { theOnly } from "../input/reference.ts";
import { slugOf } from "../input/text.ts";
import type { Role, Subject } from "../subject.ts";
import { noProfile, type Profile } from "./profile.ts";
import type { User } from "./schemas.ts";
import { insertUser, selectUser, selectUsers, selectUsersNamed, type UserRow } from "./store.ts";

/** A person as the command line shows one; the API shows `id`, `name` and `type` only. */
export type Person = User & { role: Role; active: boolean; email: string | null };

/** Adds a bot or a human as given, without a word in the audit log: for those who write their own. */
export async function addUser(
  tx: Transaction,
  user: Pick<UserRow, "teamId" | "type" | "name" | "role" | "email"> & Partial<Profile>,
): Promise<UserRow> {
  const now = Date.now();
  const row: UserRow = {
    ...noProfile,
    ...user,
    id: Bun.randomUUIDv7(),
    deactivatedAt: null,
    removedAt: null,
    updatedAt: now,
    createdAt: now,
  };
  await insertUser(tx, row);
  return row;
}

/**
 * The one user that a person at the command line means by an id, a name or the slug of a name. Of several with one name
 * those in the `preferred` state are meant, active without a word of it, and with `type` only bots or only people.
 * @throws DomainError `not_found`, or `conflict` with the ids when several have the name.
 */
export async function getUserNamed(
  db: Connection,
  teamId: string,
  reference: string,
  {
    type,
    preferred = "active",
  }: { type?: "human" | "bot" | undefined; preferred?: "active" | "deactivated" } = {},
): Promise<UserRow> {
  const noun = type === "bot" ? "bot" : type === "human" ? "person" : "user";
  const isWanted = (user: UserRow) => type === undefined || user.type === type;
  const exact = (await selectUsersNamed(db, teamId, reference)).filter(isWanted);
  const named = exact.length > 0 ? exact : (await usersOfSlug(db, teamId, reference)).filter(isWanted);
  const inState = named.filter((user) => (user.deactivatedAt === null) === (preferred === "active"));
  return theOnly(inState.length > 0 ? inState : named, noun, reference);
}

/** @throws DomainError `not_found` when the team has no user of this id. */
export async function getUser(db: Connection, teamId: string, id: string): Promise<UserRow> {
  const row = await selectUser(db, teamId, id.toLowerCase());
  if (!row) throw notFound("user");
  return row;
}

/** The user as the API shows it. */
export function userResource({ id, name, type }: Pick<UserRow, "id" | "name" | "type">): User {
  return { id, name, type };
}

/** The human as the command line shows it. */
export function personResource(row: UserRow): Person {
  return {
    ...userResource(row),
    role: row.role ?? "member",
    active: row.deactivatedAt === null,
    email: row.email,
  };
}

/**
 * The user as the one that a request or a command acts as.
 * @throws DomainError `forbidden` for somebody who was deactivated.
 */
export function subjectOf({ id, teamId, name, type, role, deactivatedAt }: UserRow): Subject {
  if (deactivatedAt !== null) throw forbidden(`${name} is deactivated.`);
  return { id, teamId, name, type, role };
}

async function usersOfSlug(db: Connection, teamId: string, slug: string): Promise<UserRow[]> {
  if (slug === "") return [];
  return (await selectUsers(db, teamId, { all: true })).filter((user) => slugOf(user.name) === slug);
}
