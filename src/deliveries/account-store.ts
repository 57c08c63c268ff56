import type { Connection } from "../database/database.ts";
import { query } from "../database/prepared.ts";

/** A subscription that asks for events after the number `afterEvent`. */
export type Asking = { subscriptionId: string; afterEvent: number };

const askingStatement = query<Asking, [string, string, string]>(
  `SELECT subscription_id AS "subscriptionId", after_event AS "afterEvent" FROM subscription_filters
   WHERE team_id = ? AND event_type = ? AND channel_id IN ('', ?)`,
);

/** The team's subscriptions that ask for events of the type in the channel. */
export function selectAsking(db: Connection, teamId: string, type: string, channelId: string): Asking[] {
  return askingStatement(db).all(teamId, type, channelId);
}

/** A place in the queue of a subscription. */
export type JobPlace = { dueAt: number; eventSeq: number };

const jobsStatement = query<JobPlace, [string, number, number, number]>(
  `SELECT due_at AS "dueAt", event_seq AS "eventSeq" FROM jobs
   WHERE subscription_id = ? AND (due_at, event_seq) > (?, ?) ORDER BY due_at, event_seq LIMIT ?`,
);

/** The subscription's jobs after a place in its queue, at most `limit`. */
export function selectJobPage(
  db: Connection,
  subscriptionId: string,
  after: JobPlace,
  limit: number,
): JobPlace[] {
  return jobsStatement(db).all(subscriptionId, after.dueAt, after.eventSeq, limit);
}
