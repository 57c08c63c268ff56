import { gt, isNull } from "drizzle-orm";
import type { Connection } from "../database/database.ts";
import { subscriptions } from "../database/schema.ts";
import type { SubscriptionRow } from "./store.ts";

/** The sealed secret of every subscription in the workspace, with its sealed headers. */
export async function selectSubscriptionSecrets(
  db: Connection,
): Promise<Array<Pick<SubscriptionRow, "id" | "secret" | "headers">>> {
  return await db
    .select({ id: subscriptions.id, secret: subscriptions.secret, headers: subscriptions.headers })
    .from(subscriptions)
    .where(isNull(subscriptions.deletedAt));
}

/** At most `limit` subscriptions with their sealed secrets, deleted ones included, in the order of their ids. */
export async function selectSealedSubscriptions(
  db: Connection,
  afterId: string,
  limit: number,
): Promise<SubscriptionRow[]> {
  return await db
    .select()
    .from(subscriptions)
    .where(gt(subscriptions.id, afterId))
    .orderBy(subscriptions.id)
    .limit(limit);
}
