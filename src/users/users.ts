import { record } from "../audit/audit.ts";
import type { Reading, Writing } from "../database/open.ts";
import { DomainError, forbidden, invalid, notFound } from "../errors.ts";
import { revokeWebhooksOfBot } from "../incoming-webhooks/incoming-webhooks.ts";
import { checkName } from "../input/name.ts";
import {
  disableSubscriptionsOf,
  listSubscriptionsOf,
  type NamedSubscription,
} from "../subscriptions/creators.ts";
import { type Role, roles, type Subject } from "../subject.ts";
import { revokeTokensOfUser } from "../tokens/tokens.ts";
import { slugOf } from "../input/text.ts";
import { firstProfile, noProfile, type Profile } from "./profile.ts";
import type { User } from "./schemas.ts";
import {
  insertUser,
  replaceEmails,
  selectOtherOwner,
  selectUser,
  selectUsers,
  selectUsersNamed,
  updateDeactivatedAt,
  updateRole,
  type UserRow,
} from "./store.ts";

/** A person as the command line shows one; the API shows `id`, `name` and `type` only. */
export type Person = User & { role: Role; active: boolean; email: string | null };

// Not a judge of addresses: it catches a name in the place of an address.
const emailShape = /^[^\s@]{1,64}@[^\s@]{1,189}$/;

/**
 * Adds a human to the team.
 * @throws DomainError `invalid` on `name`, `role` or `email`.
 */
export async function createPerson(
  tx: Writing,
  teamId: string,
  input: { name: string; role: string; email?: string | undefined },
  actor: string,
): Promise<UserRow> {
  const name = checkName(input.name);
  const role = checkRole(input.role);
  if (input.email !== undefined && !emailShape.test(input.email)) {
    throw invalid({ email: ["The email field must be an e-mail address."] });
  }
  const email = input.email ?? null;
  const profile = await firstProfile(tx, teamId, { name, email });
  const row = await addUser(tx, { ...profile, teamId, type: "human", name, role, email });
  if (email !== null) await replaceEmails(tx, row.id, [{ value: email, type: "work", isPrimary: true }]);
  await record(tx, {
    teamId,
    actor,
    action: "user.created",
    target: `user:${row.id}`,
    details: { name, role },
  });
  return row;
}

/** Adds a bot or a human as given, without a word in the audit log: for those who write their own. */
export async function addUser(
  tx: Writing,
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

/** The team's humans by name, those who were deactivated included. */
export async function listPeople(db: Reading, teamId: string): Promise<Person[]> {
  return (await selectUsers(db, teamId, { type: "human", all: true })).map(personResource);
}

/**
 * Gives a human another role; the same again changes nothing.
 * @throws DomainError `invalid` on `role`; `forbidden` when the team would be left without an owner.
 */
export async function setRole(tx: Writing, person: UserRow, role: string, actor: string): Promise<Person> {
  refuseBot(person);
  const next = checkRole(role);
  if (person.role === next) return personResource(person);
  if (person.role === "owner" && next !== "owner") await refuseLastOwner(tx, person);
  await updateRole(tx, person.id, next);
  await record(tx, {
    teamId: person.teamId,
    actor,
    action: "user.role_set",
    target: `user:${person.id}`,
    details: { name: person.name, from: person.role, to: next },
  });
  return personResource({ ...person, role: next });
}

/**
 * Deactivates a human: every token stops with the next request, the subscriptions that they created are disabled or, with
 * `keepWebhooks`, left on, messages keep their author. Again changes nothing.
 * @throws DomainError `forbidden` for the team's last owner.
 */
export async function deactivate(
  tx: Writing,
  person: UserRow,
  actor: string,
  options: SilenceOptions = {},
): Promise<Person & Silenced> {
  refuseBot(person);
  if (person.deactivatedAt !== null) return personResource(person);
  if (person.role === "owner") await refuseLastOwner(tx, person);
  const silenced = await silence(tx, person, actor, options);
  await record(tx, {
    teamId: person.teamId,
    actor,
    action: "user.deactivated",
    target: `user:${person.id}`,
    details: { name: person.name },
  });
  return { ...personResource({ ...person, deactivatedAt: Date.now() }), ...silenced };
}

/**
 * Brings a deactivated human back, with the same memberships; the tokens that were revoked stay revoked, and the
 * subscriptions that are disabled stay so: those are named.
 */
export async function reactivate(
  tx: Writing,
  person: UserRow,
  actor: string,
): Promise<Person & Pick<Silenced, "disabled_webhooks">> {
  refuseBot(person);
  if (person.deactivatedAt === null) return personResource(person);
  await updateDeactivatedAt(tx, person.id, null);
  await record(tx, {
    teamId: person.teamId,
    actor,
    action: "user.reactivated",
    target: `user:${person.id}`,
    details: { name: person.name },
  });
  const disabled = await listSubscriptionsOf(tx, person, "disabled");
  return {
    ...personResource({ ...person, deactivatedAt: null }),
    ...(disabled.length > 0 && { disabled_webhooks: disabled }),
  };
}

type SilenceOptions = { keepWebhooks?: boolean | undefined };

/** The subscriptions of somebody who is gone: those that were disabled for it, or left on; only where there are any. */
export type Silenced = {
  disabled_webhooks?: NamedSubscription[];
  kept_webhooks?: NamedSubscription[];
};

/**
 * Ends what a user can do from the next request on; the audit log names each token and webhook that this revokes, and each
 * subscription that it disables.
 */
export async function silence(
  tx: Writing,
  user: UserRow,
  actor: string,
  { keepWebhooks = false }: SilenceOptions = {},
): Promise<Silenced> {
  await updateDeactivatedAt(tx, user.id, Date.now());
  await revokeWebhooksOfBot(tx, user.id, actor);
  await revokeTokensOfUser(tx, user.id, actor);
  const subscriptions = keepWebhooks
    ? await listSubscriptionsOf(tx, user, "active")
    : await disableSubscriptionsOf(tx, user, actor);
  if (subscriptions.length === 0) return {};
  return keepWebhooks ? { kept_webhooks: subscriptions } : { disabled_webhooks: subscriptions };
}

/**
 * The one user that a person at the command line means by an id, a name or the slug of a name. Of several with one name
 * those in the `preferred` state are meant, active without a word of it, and with `type` only bots or only people.
 * @throws DomainError `not_found`, or `conflict` with the ids when several have the name.
 */
export async function getUserNamed(
  db: Reading,
  teamId: string,
  reference: string,
  {
    type,
    preferred = "active",
  }: { type?: "human" | "bot" | undefined; preferred?: "active" | "deactivated" } = {},
): Promise<UserRow> {
  const what = type === "bot" ? "bot" : type === "human" ? "person" : "user";
  const isWanted = (user: UserRow) => type === undefined || user.type === type;
  const exact = (await selectUsersNamed(db, teamId, reference)).filter(isWanted);
  const named = exact.length > 0 ? exact : (await usersOfSlug(db, teamId, reference)).filter(isWanted);
  const inState = named.filter((user) => (user.deactivatedAt === null) === (preferred === "active"));
  const meant = inState.length > 0 ? inState : named;
  const [only] = meant;
  if (!only) throw new DomainError("not_found", `There is no ${what} ${JSON.stringify(reference)}.`);
  if (meant.length > 1) {
    const ids = meant.map((user) => user.id).join(", ");
    throw new DomainError(
      "conflict",
      `Several users are called ${JSON.stringify(reference)}; name one by id: ${ids}`,
    );
  }
  return only;
}

/** @throws DomainError `not_found` when the team has no user of this id. */
export async function getUser(db: Reading, teamId: string, id: string): Promise<UserRow> {
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

async function usersOfSlug(db: Reading, teamId: string, slug: string): Promise<UserRow[]> {
  if (slug === "") return [];
  return (await selectUsers(db, teamId, { all: true })).filter((user) => slugOf(user.name) === slug);
}

function checkRole(role: string): Role {
  const known = roles.find((word) => word === role);
  if (known === undefined) throw invalid({ role: [`The role field must be one of: ${roles.join(", ")}.`] });
  return known;
}

function refuseBot(user: UserRow): void {
  if (user.type === "bot")
    throw forbidden(`${user.name} is a bot; a bot has no role and is deleted, not deactivated.`);
}

async function refuseLastOwner(tx: Writing, person: UserRow): Promise<void> {
  if (await selectOtherOwner(tx, person.teamId, person.id)) return;
  throw forbidden(`${person.name} is the team's last owner. Make somebody else an owner first.`);
}
