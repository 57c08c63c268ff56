import type { Database, Writing } from "../database/open.ts";
import { deleteJobs, hastenJobs } from "../jobs/store.ts";
import { channelIdsOf, eventTypesOf, subscriptionResource } from "./resource.ts";
import type { WebhookSubscription } from "./schemas.ts";
import { deleteFilters, insertFilters, type SubscriptionRow, updateSubscription } from "./store.ts";
import { getSubscription, recordSubscription } from "./subscriptions.ts";

/** So many waiting jobs are dropped in one write, so that other writes wait a few milliseconds at most. */
const jobsPerWrite = 1_000;

/**
 * Makes the subscription active again with a clean streak. What waited while it was disabled is sent now, or dropped
 * with `discardPending`. An active one stays as it is, but for what is dropped.
 * @throws DomainError `not_found`.
 */
export async function enableSubscription(
  database: Database,
  teamId: string,
  id: string,
  { discardPending }: { discardPending: boolean },
  actor: string,
): Promise<WebhookSubscription> {
  let mayWait = discardPending;
  while (mayWait) mayWait = await database.write((tx) => discardSome(tx, teamId, id, actor));
  return await database.write(async (tx) => {
    const row = await getSubscription(tx, teamId, id);
    if (row.status === "active") return subscriptionResource(row);
    const enabled = { status: "active", consecutiveFailures: 0, disabledAt: null } as const;
    await updateSubscription(tx, row.id, enabled);
    await insertFilters(tx, row, eventTypesOf(row), channelIdsOf(row));
    await hastenJobs(tx, row.id, Date.now());
    await recordSubscription(tx, row, "webhook.enabled", actor);
    tx.commit.woken.add(row.id);
    return subscriptionResource({ ...row, ...enabled });
  });
}

/** Drops some of what waits for the subscription and records that in the same write; whether more may wait. */
async function discardSome(tx: Writing, teamId: string, id: string, actor: string): Promise<boolean> {
  const row = await getSubscription(tx, teamId, id);
  const discarded = await deleteJobs(tx, row.id, jobsPerWrite);
  if (discarded > 0) await recordSubscription(tx, row, "webhook.pending_discarded", actor, { discarded });
  return discarded === jobsPerWrite;
}

/**
 * Disables the subscription: nothing is sent, new events pass it by, what waits is kept. A disabled one stays so.
 * @throws DomainError `not_found`.
 */
export async function disableSubscription(
  tx: Writing,
  teamId: string,
  id: string,
  actor: string,
): Promise<WebhookSubscription> {
  const row = await getSubscription(tx, teamId, id);
  if (row.status === "disabled") return subscriptionResource(row);
  return subscriptionResource(await disable(tx, row, "webhook.disabled", actor));
}

/** Disables an active subscription for the reason that the audit entry gives; the row as it now is. */
export async function disable(
  tx: Writing,
  row: SubscriptionRow,
  action: string,
  actor: string,
  details: Record<string, unknown> = {},
): Promise<SubscriptionRow> {
  const disabled = { status: "disabled", disabledAt: Date.now() } as const;
  await updateSubscription(tx, row.id, disabled);
  await deleteFilters(tx, row.id);
  await recordSubscription(tx, row, action, actor, details);
  return { ...row, ...disabled };
}
