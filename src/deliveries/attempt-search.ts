import type { Connection } from "../database/database.ts";
import type { WebhookEvent } from "../event-types.ts";
import { partOfId, theOnlyWithId } from "../input/reference.ts";
import type { WebhookDelivery } from "../subscriptions/schemas.ts";
import { deliveryResource } from "./attempt-log.ts";
import {
  type LoggedAttempt,
  selectAttemptIds,
  selectAttemptNumberAt,
  selectAttemptsBack,
  selectAttemptsOfEvent,
  selectAttemptsOfEvents,
  selectNamesOfSubscriptions,
} from "./attempt-search-store.ts";

/** Which attempts of a team are wanted. Times are in milliseconds since 1970. */
export type AttemptFilter = {
  subscriptionId?: string | undefined;
  /** The numbers of the events. */
  eventSeqs?: readonly number[] | undefined;
  eventType?: WebhookEvent | undefined;
  onlyFailed?: boolean | undefined;
  since?: number | undefined;
  until?: number | undefined;
  /** Only attempts with a greater `place`. */
  after?: number | undefined;
  limit: number;
};

/** An attempt in a list. */
export type ListedAttempt = WebhookDelivery & {
  replay: boolean;
  webhook_id: string;
  webhook: { id: string; name: string };
  /** The number of the attempt at this event for this subscription, from 1; null for a replay, and once its event is gone. */
  attempt: number | null;
  /** Its number in the log. */
  place: number;
};

/** How many attempts are read at once. */
const perPage = 1_000;

/** How many attempts one search looks at, so that a filter that lets nothing through costs a second and not minutes. */
const lookedAtMax = 200_000;

/** By how much the times of attempts with neighbouring numbers may differ, in milliseconds: they end side by side. */
const slackMs = 60_000;

/** The events of one look-up of their attempts. */
const eventsPerQuery = 500;

/** The most ids that a reference is compared with: one more than can be shown of an ambiguous one. */
const idsMax = 11;

/**
 * Returns the team's attempts that the filter lets through, newest first, and when the oldest was made that was looked
 * at if the search ended there before its limit; null when it is complete.
 */
export async function searchAttempts(
  db: Connection,
  teamId: string,
  filter: AttemptFilter,
): Promise<{ attempts: ListedAttempt[]; stoppedAt: number | null }> {
  const names = new Map<string, string | undefined>();
  const { found, stoppedAt } = filter.eventSeqs
    ? await amongEvents(db, teamId, filter, filter.eventSeqs, names)
    : await backwards(db, teamId, filter, names);
  const numbers = await numbersOf(db, found);
  const attempts = found.map((row) => ({
    ...deliveryResource(row),
    replay: row.isReplay,
    webhook_id: row.subscriptionId,
    webhook: { id: row.subscriptionId, name: names.get(row.subscriptionId) ?? "" },
    attempt: numbers.get(row.seq) ?? null,
    place: row.seq,
  }));
  return { attempts, stoppedAt };
}

/** As `searchAttempts`, only the attempts. To poll for new ones use `AttemptFeed`: one with a lower place may come later. */
export async function listAttempts(
  db: Connection,
  teamId: string,
  filter: AttemptFilter,
): Promise<ListedAttempt[]> {
  return (await searchAttempts(db, teamId, filter)).attempts;
}

/**
 * Returns the id of the team's attempt that a command's argument refers to: a whole id, or its start or end.
 * @throws DomainError `not_found`; `conflict`, with the ids, when it may mean several.
 */
export function findAttemptId(db: Connection, teamId: string, reference: string): string {
  return theOnlyWithId(attemptsReferredTo(db, teamId, reference), "attempt", reference).id;
}

/** Returns the ids of the team's attempts that the reference may mean; none if it is no part of an id. */
export function attemptsReferredTo(db: Connection, teamId: string, reference: string): Array<{ id: string }> {
  const part = partOfId(reference);
  return part ? selectAttemptIds(db, teamId, part, idsMax) : [];
}

type Names = Map<string, string | undefined>;
type Searched = { found: LoggedAttempt[]; stoppedAt: number | null };

async function amongEvents(
  db: Connection,
  teamId: string,
  filter: AttemptFilter,
  eventSeqs: readonly number[],
  names: Names,
): Promise<Searched> {
  const all: LoggedAttempt[] = [];
  for (const seq of eventSeqs) all.push(...(await selectAttemptsOfEvent(db, seq)));
  const found = await wanted(db, teamId, filter, all, names);
  return { found: found.sort((a, b) => b.seq - a.seq).slice(0, filter.limit), stoppedAt: null };
}

/** Goes back through the log in pages, from `until` to `since`. */
async function backwards(
  db: Connection,
  teamId: string,
  filter: AttemptFilter,
  names: Names,
): Promise<Searched> {
  const { subscriptionId, since, until, after = 0, limit } = filter;
  const found: LoggedAttempt[] = [];
  let before = until === undefined ? Number.MAX_SAFE_INTEGER : selectAttemptNumberAt(db, until + slackMs) + 1;
  let pageSize = Math.min(limit, perPage);
  for (let lookedAt = pageSize; ; lookedAt += pageSize) {
    const page = await selectAttemptsBack(db, { subscriptionId, before, after }, pageSize);
    found.push(...(await wanted(db, teamId, filter, page, names)));
    const last = page.at(-1);
    const isOver = last === undefined || page.length < pageSize;
    const isOld = last !== undefined && since !== undefined && last.createdAt < since - slackMs;
    if (isOver || isOld || found.length >= limit) return { found: found.slice(0, limit), stoppedAt: null };
    if (lookedAt >= lookedAtMax) return { found, stoppedAt: last.createdAt };
    before = last.seq;
    pageSize = perPage;
  }
}

/** Those of the attempts that the filter lets through. Adds the names of their subscriptions to `names`. */
async function wanted(
  db: Connection,
  teamId: string,
  { subscriptionId, eventType, onlyFailed, since = 0, until = Infinity, after = 0 }: AttemptFilter,
  page: readonly LoggedAttempt[],
  names: Names,
): Promise<LoggedAttempt[]> {
  const matching = page.filter(
    (row) =>
      (subscriptionId === undefined || row.subscriptionId === subscriptionId) &&
      (eventType === undefined || row.eventType === eventType) &&
      !(onlyFailed && row.succeeded) &&
      row.createdAt >= since &&
      row.createdAt <= until &&
      row.seq > after,
  );
  const unknown = [...new Set(matching.map((row) => row.subscriptionId))].filter((id) => !names.has(id));
  for (const id of unknown) names.set(id, undefined);
  if (unknown.length > 0)
    for (const { id, name } of await selectNamesOfSubscriptions(db, teamId, unknown)) names.set(id, name);
  return matching.filter((row) => names.get(row.subscriptionId) !== undefined);
}

/** The number of each attempt among those at its event for its subscription, by its number in the log. */
async function numbersOf(db: Connection, rows: readonly LoggedAttempt[]): Promise<Map<number, number>> {
  const events = [...new Set(rows.map(({ eventSeq }) => eventSeq))].filter((seq) => seq !== null);
  const numbers = new Map<number, number>();
  for (let from = 0; from < events.length; from += eventsPerQuery) {
    const logged = await selectAttemptsOfEvents(db, events.slice(from, from + eventsPerQuery));
    const counts = new Map<string, number>();
    for (const { seq, eventSeq, subscriptionId } of logged.sort((a, b) => a.seq - b.seq)) {
      const key = `${eventSeq} ${subscriptionId}`;
      const number = (counts.get(key) ?? 0) + 1;
      counts.set(key, number);
      numbers.set(seq, number);
    }
  }
  return numbers;
}
