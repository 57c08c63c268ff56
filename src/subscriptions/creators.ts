import type { Connection, Transaction } from "../database/database.ts";
import { actorOf, type Subject } from "../subject.ts";
import { selectActor } from "../users/store.ts";
import { disableSubscriptionsOfCreator, selectSubscriptionsOfCreator } from "./store.ts";
import { recordSubscription } from "./subscriptions.ts";
import { now } from "../system/repeatable.ts";

/** A subscription, as the output of commands about its creator names it. */
export type NamedSubscription = { id: string; name: string };

/**
 * The name of the subscription's creator, and whether they have been deactivated or deleted. `createdBy` is given as
 * in the audit log, which also serves as the name if it is not a user of the team.
 */
export function findCreator(
  db: Connection,
  teamId: string,
  createdBy: string,
): { name: string; isGone: boolean; isBot: boolean } {
  const user = selectActor(db, teamId, createdBy);
  if (!user) return { name: createdBy, isGone: false, isBot: false };
  return { name: user.name, isGone: user.deactivatedAt !== null, isBot: user.type === "bot" };
}

/** The user's subscriptions with this status, newest first. */
export async function listSubscriptionsOf(
  db: Connection,
  user: Pick<Subject, "type" | "id">,
  status: "active" | "disabled",
): Promise<NamedSubscription[]> {
  const rows = await selectSubscriptionsOfCreator(db, actorOf(user), status);
  return rows.map(({ id, name }) => ({ id, name }));
}

/**
 * Disables and audits the active subscriptions of a user who is being deactivated or deleted. Returns those it
 * disabled.
 */
export async function disableSubscriptionsOf(
  tx: Transaction,
  user: Pick<Subject, "type" | "id">,
  actor: string,
): Promise<NamedSubscription[]> {
  const rows = await disableSubscriptionsOfCreator(tx, actorOf(user), now());
  const details = { reason: "creator_gone" };
  for (const row of rows) await recordSubscription(tx, row, "webhook.disabled", actor, details);
  return rows.map(({ id, name }) => ({ id, name }));
}
