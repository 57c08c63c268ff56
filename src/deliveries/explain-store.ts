import { eq } from "drizzle-orm";
import type { Connection } from "../database/database.ts";
import { query } from "../database/prepared.ts";
import { subscriptions } from "../database/schema.ts";
import type { SubscriptionRow } from "../subscriptions/store.ts";

/** Returns the team's subscriptions, deleted ones included, in the order of their creation. */
export async function selectAllSubscriptionsOf(db: Connection, teamId: string): Promise<SubscriptionRow[]> {
  const rows = await db.select().from(subscriptions).where(eq(subscriptions.teamId, teamId));
  return rows.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}

const jobStatement = query<{ dueAt: number; attempts: number }, [string, number]>(
  'SELECT due_at AS "dueAt", attempts FROM jobs WHERE subscription_id = ? AND event_seq = ? LIMIT 1',
);

/** The job that sends the event to the subscription; undefined without one. Reads the subscription's jobs at worst. */
export function selectJobOf(
  db: Connection,
  subscriptionId: string,
  eventSeq: number,
): { dueAt: number; attempts: number } | undefined {
  return jobStatement(db).get(subscriptionId, eventSeq) ?? undefined;
}

const fanOutStatement = query<object, [string, number]>(
  "SELECT 1 FROM fan_outs WHERE team_id = ? AND event_seq = ?",
);

/** Whether the event is still being queued for its subscriptions. */
export function isFannedOut(db: Connection, teamId: string, eventSeq: number): boolean {
  return fanOutStatement(db).get(teamId, eventSeq) !== null;
}
