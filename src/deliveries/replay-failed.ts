import type { Database } from "../database/database.ts";
import { getSubscription, recordSubscription } from "../subscriptions/subscriptions.ts";
import { withPause } from "../subscriptions/waiting-jobs.ts";
import { timestamp } from "../timestamp.ts";
import { selectAttemptNumberAt } from "./attempt-search-store.ts";
import {
  type AttemptAtEvent,
  enqueueAgain,
  selectAttemptsForward,
  selectLastAttempts,
  selectNewestAttempt,
  selectWaitingOf,
} from "./replay-failed-store.ts";

/** When the attempts were made, in milliseconds since 1970: from `since` up to `until`. */
export type Period = { since: number; until: number };

/** How many attempts are read at once. */
const attemptsPerRead = 1_000;

/**
 * How many events are queued by one step, and how long a step takes at least, in milliseconds: the worker sends a few at a
 * time, between which other subscriptions get theirs.
 */
const eventsPerStep = 5;
const stepMs = 15;

/** By how much the times of attempts with neighbouring numbers may differ, in milliseconds: they end side by side. */
const slackMs = 60_000;

/**
 * Yields the failed attempts of the subscription in the period that were the last at their event, oldest first, in pages:
 * each event once. Events that wait for another attempt anyhow, and those that are no longer stored, are left out. Attempts
 * that are made meanwhile are not looked at.
 */
export async function* lastFailures(
  database: Database,
  subscriptionId: string,
  { since, until }: Period,
): AsyncGenerator<AttemptAtEvent[]> {
  const upTo = await database.ask((db) => selectNewestAttempt(db, subscriptionId));
  let after = await database.ask((db) => selectAttemptNumberAt(db, since - slackMs));
  while (true) {
    const from = after;
    const page = await database.ask((db) =>
      selectAttemptsForward(db, subscriptionId, { after: from, upTo }, attemptsPerRead),
    );
    const last = page.at(-1);
    if (!last || last.createdAt - slackMs > until) return;
    after = last.seq;
    const failed = page.filter(
      (attempt): attempt is AttemptAtEvent =>
        !attempt.succeeded &&
        attempt.eventSeq !== null &&
        attempt.createdAt >= since &&
        attempt.createdAt <= until,
    );
    const eventSeqs = [...new Set(failed.map(({ eventSeq }) => eventSeq))];
    if (eventSeqs.length === 0) continue;
    const lasts = await database.ask((db) => selectLastAttempts(db, subscriptionId, eventSeqs));
    const waiting = await database.ask((db) => selectWaitingOf(db, subscriptionId, eventSeqs));
    const found = failed.filter(({ seq, eventSeq }) => lasts.get(eventSeq) === seq && !waiting.has(eventSeq));
    if (found.length > 0) yield found;
  }
}

/**
 * Queues the events of `lastFailures` for the subscription again, oldest first and before what is new, and yields how many
 * are queued so far. The worker sends them by its rules, so other subscriptions keep their turns. Each is due when its
 * last attempt failed: whoever interrupts this and begins again, or does it twice at once, queues nothing twice.
 * @throws DomainError `not_found`.
 */
export async function* replayFailed(
  database: Database,
  teamId: string,
  subscriptionId: string,
  period: Period,
  actor: string,
): AsyncGenerator<number> {
  let queued = 0;
  for await (const page of lastFailures(database, subscriptionId, period)) {
    for (let from = 0; from < page.length; from += eventsPerStep) {
      const batch = page.slice(from, from + eventsPerStep);
      const isFirst = queued === 0;
      const queue = withPause(() =>
        database.write(async (tx) => {
          const row = await getSubscription(tx, teamId, subscriptionId);
          for (const { createdAt, eventSeq } of batch) enqueueAgain(tx, row.id, createdAt, eventSeq);
          tx.commit.subscriptionsWithWork.add(row.id);
          if (!isFirst) return;
          const details = { since: timestamp(period.since), until: timestamp(period.until) };
          await recordSubscription(tx, row, "webhook.failed_replayed", actor, details);
        }),
      );
      await Promise.all([queue, Bun.sleep(stepMs)]);
      queued += batch.length;
      yield queued;
    }
  }
}
