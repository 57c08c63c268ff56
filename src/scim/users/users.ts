import { record } from "../../audit/audit.ts";
import type { Connection, Transaction } from "../../database/database.ts";
import { isUuid } from "../../input/text.ts";
import { type Email, replaceEmails, selectUserByUserName, type UserRow } from "../../users/store.ts";
import { deactivate, reactivate, setRole } from "../../accounts/people.ts";
import { addUser } from "../../users/users.ts";
import { userResourceType } from "../protocol/attributes.ts";
import { type Directory, scimActor } from "../protocol/directory.ts";
import { Document } from "../protocol/document.ts";
import { noResource, scimError } from "../protocol/errors.ts";
import { operationsOf, operationsOfObject, apply } from "../protocol/patch.ts";
import type { Resource } from "../protocol/projection.ts";
import type { Query } from "../protocol/query.ts";
import { documentOf, type DesiredUser, desiredUserOf } from "./profile.ts";
import { userResource } from "./resource.ts";
import {
  countPeople,
  selectEmails,
  selectPeople,
  selectPerson,
  selectRemoved,
  updatePerson,
} from "./store.ts";
import { now } from "../../system/repeatable.ts";

/**
 * Returns a page of the people who match the query, and their total number.
 * @throws ScimError `invalidFilter`.
 */
export async function listUsers(
  db: Connection,
  { teamId, root }: Directory,
  query: Query,
): Promise<{ total: number; resources: Resource[] }> {
  const rows = query.count === 0 ? [] : await selectPeople(db, teamId, query);
  const before = query.startIndex - 1;
  // A page that is not full is the last one, so looking up one person needs no count.
  const isLast = rows.length < query.count && (rows.length > 0 || before === 0);
  const total = isLast ? before + rows.length : await countPeople(db, teamId, query);
  return { total, resources: await userResources(db, rows, root) };
}

/**
 * Returns the person.
 * @throws ScimError 404.
 */
export async function getUser(db: Connection, directory: Directory, id: string): Promise<Resource> {
  const row = await getPerson(db, directory, id);
  return userResource(row, await emailsOf(db, row), directory.root);
}

/**
 * Creates a person, or restores one who was deactivated or deleted under the same `userName`, with everything they had.
 * When both have an `externalId`, the two must be equal to be the same person.
 * @throws ScimError `invalidValue`; `uniqueness` when the `userName` is taken.
 */
export async function createUser(tx: Transaction, directory: Directory, body: object): Promise<Resource> {
  const desired = desiredUserOf(documentFrom(body));
  const former = await findFormer(tx, directory, desired);
  const row = former ?? (await addPerson(tx, directory, desired));
  if (former)
    await save(tx, former, await emailsOf(tx, former), { ...desired, active: desired.active ?? true });
  else await setAccess(tx, row, desired);
  return await getUser(tx, directory, row.id);
}

/**
 * Replaces the person with the body. Attributes that it leaves out are cleared, except `active` and `roles`.
 * @throws ScimError 404, `invalidValue`, `uniqueness`; DomainError `forbidden` for the last owner.
 */
export async function replaceUser(
  tx: Transaction,
  directory: Directory,
  id: string,
  body: object,
): Promise<Resource> {
  const row = await getPerson(tx, directory, id);
  await save(tx, row, await emailsOf(tx, row), desiredUserOf(documentFrom(body), row.id));
  return await getUser(tx, directory, row.id);
}

/**
 * Applies all operations of a PATCH, or none.
 * @throws ScimError 404 and as `operationsOf` and `apply`; DomainError `forbidden` for the last owner.
 */
export async function patchUser(
  tx: Transaction,
  directory: Directory,
  id: string,
  body: object,
): Promise<Resource> {
  const row = await getPerson(tx, directory, id);
  const emails = await emailsOf(tx, row);
  const document = documentOf(row, emails);
  for (const operation of operationsOf(userResourceType, body)) apply(document, operation);
  await save(tx, row, emails, desiredUserOf(document, row.id));
  return await getUser(tx, directory, row.id);
}

/**
 * Deactivates the person and hides them from the directory; their messages stay.
 * @throws ScimError 404; DomainError `forbidden` for the last owner.
 */
export async function deleteUser(tx: Transaction, directory: Directory, id: string): Promise<void> {
  const row = await getPerson(tx, directory, id);
  await deactivate(tx, row, scimActor);
  await updatePerson(tx, row.id, { removedAt: now() });
  await recordUser(tx, row, "user.removed");
}

async function getPerson(db: Connection, { teamId }: Directory, id: string): Promise<UserRow> {
  const row = isUuid(id) ? await selectPerson(db, teamId, id.toLowerCase()) : undefined;
  if (!row) throw noResource("User", id);
  return row;
}

function documentFrom(body: object): Document {
  const document = new Document();
  for (const operation of operationsOfObject(userResourceType, "replace", body)) apply(document, operation);
  return document;
}

async function findFormer(
  tx: Transaction,
  { teamId }: Directory,
  { fields }: DesiredUser,
): Promise<UserRow | undefined> {
  const { userName, externalId } = fields;
  const isSame = (row: UserRow) =>
    row.externalId === null || externalId === null || row.externalId === externalId;
  const holder = await selectUserByUserName(tx, teamId, userName);
  if (holder && (holder.deactivatedAt === null || !isSame(holder))) throw userNameTaken(userName);
  return holder ?? (await selectRemoved(tx, teamId, userName)).find(isSame);
}

async function addPerson(
  tx: Transaction,
  { teamId }: Directory,
  { fields, emails }: DesiredUser,
): Promise<UserRow> {
  const row = await addUser(tx, { ...fields, teamId, type: "human", role: "member" });
  await replaceEmails(tx, row.id, emails);
  await recordUser(tx, row, "user.created", { role: row.role });
  return row;
}

/** Writes only what has changed. */
async function save(
  tx: Transaction,
  row: UserRow,
  emails: readonly Email[],
  desired: DesiredUser,
): Promise<void> {
  const { fields } = desired;
  const holder = await selectUserByUserName(tx, row.teamId, fields.userName);
  if (holder && holder.id !== row.id) throw userNameTaken(fields.userName);

  const isSame = Bun.deepEquals(emails, desired.emails);
  const changed = Object.entries(fields)
    .filter(([name, value]) => row[name as keyof typeof fields] !== value)
    .map(([name]) => name)
    .concat(isSame ? [] : ["emails"]);
  if (changed.length > 0 || row.removedAt !== null) {
    await updatePerson(tx, row.id, { ...fields, removedAt: null, updatedAt: now() });
    if (!isSame) await replaceEmails(tx, row.id, desired.emails);
    await recordUser(tx, row, "user.updated", { changed });
  }
  await setAccess(tx, { ...row, ...fields }, desired);
}

/** Sets whether the person is active, and their role. Owners stay owners; only the command line makes them. */
async function setAccess(tx: Transaction, person: UserRow, { active, role }: DesiredUser): Promise<void> {
  if (role === "owner" && person.role !== "owner") {
    throw scimError("invalidValue", "A directory cannot make owners: roles takes admin or member.");
  }
  if (role && person.role !== "owner" && person.role !== role) await setRole(tx, person, role, scimActor);
  if (active === false) await deactivate(tx, person, scimActor);
  if (active === true) await reactivate(tx, person, scimActor);
}

async function emailsOf(db: Connection, { id }: UserRow): Promise<Email[]> {
  return (await selectEmails(db, [id])).get(id) ?? [];
}

async function userResources(db: Connection, rows: readonly UserRow[], root: string): Promise<Resource[]> {
  const ids = rows.map(({ id }) => id);
  const emails = ids.length === 0 ? undefined : await selectEmails(db, ids);
  return rows.map((row) => userResource(row, emails?.get(row.id) ?? [], root));
}

function userNameTaken(userName: string) {
  return scimError("uniqueness", `There is a User with the userName ${JSON.stringify(userName)} already.`);
}

async function recordUser(
  tx: Transaction,
  { id, teamId, name }: UserRow,
  action: string,
  details: Record<string, unknown> = {},
): Promise<void> {
  const target = `user:${id}`;
  await record(tx, { teamId, actor: scimActor, action, target, details: { name, ...details } });
}
