import { record } from "../audit/audit.ts";
import type { Connection, Transaction } from "../database/database.ts";
import { forbidden, invalid } from "../errors.ts";
import { checkName } from "../input/name.ts";
import { listSubscriptionsOf } from "../subscriptions/creators.ts";
import { type Role, roles } from "../subject.ts";
import { firstProfile } from "../users/profile.ts";
import {
  replaceEmails,
  selectOtherOwner,
  selectUsers,
  updateDeactivatedAt,
  updateRole,
  type UserRow,
} from "../users/store.ts";
import { addUser, type Person, personResource } from "../users/users.ts";
import { revokeAccess, type RevokeOptions, type RevokedAccess } from "./revoke-access.ts";
import { now } from "../system/repeatable.ts";

// Not a validation of addresses: it catches a name given as an address.
const emailShape = /^[^\s@]{1,64}@[^\s@]{1,189}$/;

/**
 * Adds a human to the team and returns the row.
 * @throws DomainError `invalid` on `name`, `role` or `email`.
 */
export async function createPerson(
  tx: Transaction,
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

/** Returns the team's humans, including deactivated ones, by name. */
export async function listPeople(db: Connection, teamId: string): Promise<Person[]> {
  return (await selectUsers(db, teamId, { type: "human", all: true })).map(personResource);
}

/**
 * Changes the role of a human and returns the person. Idempotent.
 * @throws DomainError `invalid` on `role`; `forbidden` for a bot, or when the team would be left without an owner.
 */
export async function setRole(
  tx: Transaction,
  person: UserRow,
  role: string,
  actor: string,
): Promise<Person> {
  requireHuman(person);
  const next = checkRole(role);
  if (person.role === next) return personResource(person);
  if (person.role === "owner" && next !== "owner") await requireAnotherOwner(tx, person);
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
 * Deactivates a human and returns the person with the subscriptions that this affects. All their tokens stop working
 * from the next request on; their subscriptions are disabled or, with `keepWebhooks`, stay enabled; their messages
 * keep their author. Idempotent.
 * @throws DomainError `forbidden` for a bot and for the team's last owner.
 */
export async function deactivate(
  tx: Transaction,
  person: UserRow,
  actor: string,
  options: RevokeOptions = {},
): Promise<Person & RevokedAccess> {
  requireHuman(person);
  if (person.deactivatedAt !== null) return personResource(person);
  if (person.role === "owner") await requireAnotherOwner(tx, person);
  const revoked = await revokeAccess(tx, person, actor, options);
  await record(tx, {
    teamId: person.teamId,
    actor,
    action: "user.deactivated",
    target: `user:${person.id}`,
    details: { name: person.name },
  });
  return { ...personResource({ ...person, deactivatedAt: now() }), ...revoked };
}

/**
 * Reactivates a human, with the same memberships. Revoked tokens stay revoked and disabled subscriptions stay disabled:
 * the latter are returned with the person. Idempotent.
 * @throws DomainError `forbidden` for a bot.
 */
export async function reactivate(
  tx: Transaction,
  person: UserRow,
  actor: string,
): Promise<Person & Pick<RevokedAccess, "disabled_webhooks">> {
  requireHuman(person);
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

function checkRole(role: string): Role {
  const known = roles.find((word) => word === role);
  if (known === undefined) throw invalid({ role: [`The role field must be one of: ${roles.join(", ")}.`] });
  return known;
}

function requireHuman(user: UserRow): void {
  if (user.type === "bot")
    throw forbidden(`${user.name} is a bot: bots have no role and are deleted, not deactivated.`);
}

async function requireAnotherOwner(tx: Transaction, person: UserRow): Promise<void> {
  if (await selectOtherOwner(tx, person.teamId, person.id)) return;
  throw forbidden(`${person.name} is the team's last owner. Make another person an owner first.`);
}
