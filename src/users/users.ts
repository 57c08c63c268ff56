import type { Connection, Transaction } from "../database/database.ts";
import { forbidden, notFound } from "../errors.ts";
import { theOnly, theOnlyWithId } from "../input/reference.ts";
import { slugOf } from "../input/text.ts";
import type { Role, Subject } from "../subject.ts";
import { noProfile, type Profile } from "./profile.ts";
import type { User } from "./schemas.ts";
import { insertUser, selectUser, selectUsers, selectUsersNamed, type UserRow } from "./store.ts";
import { newId, now } from "../system/repeatable.ts";

/** A person as the command line shows one; the API shows only `id`, `name` and `type`. */
export type Person = User & { role: Role; active: boolean; email: string | null };

/** Adds a bot or a human as given and returns the row. The caller validates it and writes the audit log. */
export async function addUser(
  tx: Transaction,
  user: Pick<UserRow, "teamId" | "type" | "name" | "role" | "email"> & Partial<Profile>,
): Promise<UserRow> {
  const createdAt = now();
  const row: UserRow = {
    ...noProfile,
    ...user,
    id: newId(),
    deactivatedAt: null,
    removedAt: null,
    updatedAt: createdAt,
    createdAt,
  };
  await insertUser(tx, row);
  return row;
}

/**
 * Returns the user that someone at the command line refers to by id, name, slug of the name, or start or end of the id.
 * With `type`, only bots or only people count. If several have the name, those in the `preferred` state win, by default
 * the active ones.
 * @throws DomainError `not_found`; `conflict`, with the ids, when more than one is left.
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
  const all = exact.length > 0 ? [] : (await selectUsers(db, teamId, { all: true })).filter(isWanted);
  const named = exact.length > 0 ? exact : all.filter(({ name }) => slugOf(name) === reference);
  if (named.length === 0) return theOnlyWithId(all, noun, reference);
  const inState = named.filter((user) => (user.deactivatedAt === null) === (preferred === "active"));
  return theOnly(inState.length > 0 ? inState : named, noun, reference);
}

/** @throws DomainError `not_found` when the team has no user of this id. */
export async function getUser(db: Connection, teamId: string, id: string): Promise<UserRow> {
  const row = await selectUser(db, teamId, id.toLowerCase());
  if (!row) throw notFound("user");
  return row;
}

/** The user as the API shows it (specification part 2). */
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
 * Returns the subject that acts as this user.
 * @throws DomainError `forbidden` when the user is deactivated.
 */
export function subjectOf({ id, teamId, name, type, role, deactivatedAt }: UserRow): Subject {
  if (deactivatedAt !== null) throw forbidden(`${name} is deactivated.`);
  return { id, teamId, name, type, role };
}
