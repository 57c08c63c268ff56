import type { Connection, Transaction } from "../database/database.ts";
import { actorOf, type Subject } from "../subject.ts";
import { selectActor } from "../users/store.ts";
import { disableSubscriptionsOfCreator, selectSubscriptionsOfCreator } from "./store.ts";
import { recordSubscription } from "./subscriptions.ts";

/** A subscription, as the answer of a command about its creator names it. */
export type NamedSubscription = { id: string; name: string };

/** Who created the subscription, by name, and whether they were deactivated or deleted since. */
export function findCreator(
  db: Connection,
  teamId: string,
  createdBy: string,
): { name: string; isGone: boolean; isBot: boolean } {
  const user = selectActor(db, teamId, createdBy);
  if (!user) return { name: createdBy, isGone: false, isBot: false };
  return { name: user.name, isGone: user.deactivatedAt !== null, isBot: user.type === "bot" };
}

/** The subscriptions that the user created and that have this status, newest first. */
export async function listSubscriptionsOf(
  db: Connection,
  user: Pick<Subject, "type" | "id">,
  status: "active" | "disabled",
): Promise<NamedSubscription[]> {
  const rows = await selectSubscriptionsOfCreator(db, actorOf(user), status);
  return rows.map(({ id, name }) => ({ id, name }));
}

/** Disables what the user created, who is being deactivated or deleted, and audits each; those that were active. */
export async function disableSubscriptionsOf(
  tx: Transaction,
  user: Pick<Subject, "type" | "id">,
  actor: string,
): Promise<NamedSubscription[]> {
  const rows = await disableSubscriptionsOfCreator(tx, actorOf(user), Date.now());
  const details = { reason: "creator_gone" };
  for (const row of rows) await recordSubscription(tx, row, "webhook.disabled", actor, details);
  return rows.map(({ id, name }) => ({ id, name }));
}
