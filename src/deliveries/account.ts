import { listAuditEntries } from "../audit/audit.ts";
import { selectChannel } from "../channels/store.ts";
import type { Connection, Database } from "../database/database.ts";
import { isForCreator } from "../outbox/creator-visibility.ts";
import { channelOf, eventSeqAt } from "../outbox/event-search.ts";
import { type NumberedEvent, selectEventsAfter } from "../outbox/event-search-store.ts";
import { selectLastEventSeq } from "../outbox/event-store.ts";
import { selectSubscriptions, type SubscriptionRow } from "../subscriptions/store.ts";
import { timestamp } from "../timestamp.ts";
import { type Asking, type JobPlace, selectAsking, selectJobPage } from "./account-store.ts";
import { selectAttemptsOfEvents } from "./attempt-search-store.ts";
import { isFannedOut, selectJobOf } from "./explain-store.ts";

/** A delivery that has neither an outcome nor an attempt to come. */
export type Hole = {
  event_id: string;
  event_type: string;
  created_at: string;
  webhook: { id: string; name: string };
  /** How many attempts were made, all of which failed. */
  attempts: number;
};

/** What became of every event for every subscription that asks for it. */
export type Account = {
  since: string;
  until: string;
  /** The events of the team in that time. */
  events: number;
  delivered: number;
  given_up: number;
  /** An attempt is due, or the subscription is disabled. */
  waiting: number;
  /** Still being queued for many subscriptions. */
  queueing: number;
  /** Dropped by an operator. */
  discarded: number;
  /** Not for the subscription's creator to see (`WEBHOOKS_VISIBILITY=creator`). */
  withheld: number;
  missing: number;
  /** The first thousand of those that are missing. */
  holes: Hole[];
};

/** An event for a subscription without a final outcome so far. */
type Open = { event: NumberedEvent; subscription: SubscriptionRow; attempts: number };

type Counted = "delivered" | "given_up" | "waiting" | "queueing" | "discarded" | "withheld";

const dayMs = 86_400_000;

/** About how many outcomes are read at once, and how many deliveries are looked up in the queue together. */
const outcomesPerPage = 20_000;
const openMax = 20_000;
const eventsPerPage = 500;
const jobsPerPage = 1_000;
const holesShown = 1_000;

/** How often a delivery is looked at again before it counts as missing: it may be settled in between. */
const looks = 3;

/** How many entries of each action are read of the audit log. */
const entriesMax = 1_000;

/** What an operator does that drops events without an attempt. */
const dropping = ["webhook.pending_discarded", "webhook.held_discarded"];

/** Times are in milliseconds since 1970. */
export type AccountParts = {
  since: number;
  now: number;
  /** `WEBHOOKS_MAX_ATTEMPTS`. */
  maxAttempts: number;
  /** `WEBHOOKS_DELIVERY_RETENTION_DAYS`: what is older than the log is left out. */
  retentionDays: number;
};

/**
 * Accounts for the events of the team since the time: each subscription that asks for one has an outcome or a due
 * attempt. Reads the events in pages, so the memory does not grow with them. `onProgress` gets the events done.
 */
export async function account(
  database: Database,
  teamId: string,
  parts: AccountParts,
  onProgress: (events: number) => void,
): Promise<Account> {
  const { retentionDays, now } = parts;
  const since = retentionDays === 0 ? parts.since : Math.max(parts.since, now - retentionDays * dayMs);
  const counts = { delivered: 0, given_up: 0, waiting: 0, queueing: 0, discarded: 0, withheld: 0 };
  const result = { events: 0, ...counts, missing: 0, holes: [] as Hole[] };
  const { subscriptions, dropped, first, last } = await database.ask(async (db) => ({
    subscriptions: new Map((await subscriptionsSentTo(db, teamId)).map((row) => [row.id, row])),
    dropped: await lastDrops(db, teamId),
    first: await eventSeqAt(db, since),
    last: await selectLastEventSeq(db),
  }));
  const limit = Math.max(
    1,
    Math.min(eventsPerPage, Math.floor(outcomesPerPage / Math.max(1, subscriptions.size))),
  );
  let open: Open[] = [];
  const settle = async () => {
    for (const [subscription, waiting] of Map.groupBy(open, (each) => each.subscription))
      await close(database, subscription, waiting, dropped.get(subscription.id) ?? 0, parts, result);
    open = [];
  };
  for (let after = first - 1; after < last;) {
    const page = await database.ask((db) =>
      pageOf(db, teamId, { after, limit, last, since }, subscriptions, parts),
    );
    result.events += page.events;
    result.delivered += page.delivered;
    result.given_up += page.givenUp;
    open.push(...page.open);
    if (open.length >= openMax) await settle();
    onProgress(result.events);
    if (page.end === undefined) break;
    after = page.end;
  }
  await settle();
  return { since: timestamp(since), until: timestamp(now), ...result };
}

/** The team's subscriptions, except those whose events are only read. */
async function subscriptionsSentTo(db: Connection, teamId: string): Promise<SubscriptionRow[]> {
  return (await selectSubscriptions(db, teamId)).filter(({ url }) => url !== "");
}

type Page = { after: number; limit: number; last: number; since: number };

/** The outcomes of the next events, and the number of the last of them; undefined at the end. */
async function pageOf(
  db: Connection,
  teamId: string,
  { after, limit, last, since }: Page,
  subscriptions: ReadonlyMap<string, SubscriptionRow>,
  { maxAttempts }: AccountParts,
) {
  const read = selectEventsAfter(db, after, limit).filter(({ seq }) => seq <= last);
  const placed = read.map((event) => ({ event, channelId: channelOf(event) }));
  const channels = new Map<string, boolean>();
  for (const { channelId } of placed)
    if (!channels.has(channelId)) channels.set(channelId, selectChannel(db, teamId, channelId) !== undefined);
  const ofTeam = placed.filter(
    ({ event, channelId }) => event.createdAt >= since && channels.get(channelId) === true,
  );
  const outcomes = new Map<string, { attempts: number; succeeded: boolean }>();
  const seqs = ofTeam.map(({ event }) => event.seq);
  for (const { eventSeq, subscriptionId, succeeded } of await selectAttemptsOfEvents(db, seqs)) {
    const key = `${eventSeq} ${subscriptionId}`;
    const known = outcomes.get(key) ?? { attempts: 0, succeeded: false };
    outcomes.set(key, { attempts: known.attempts + 1, succeeded: known.succeeded || succeeded });
  }
  const asking = new Map<string, Asking[]>();
  const open: Open[] = [];
  let delivered = 0;
  let givenUp = 0;
  for (const { event, channelId } of ofTeam) {
    const key = `${event.type} ${channelId}`;
    const askers = asking.get(key) ?? selectAsking(db, teamId, event.type, channelId);
    asking.set(key, askers);
    for (const { subscriptionId, afterEvent } of askers) {
      const subscription = subscriptions.get(subscriptionId);
      if (!subscription || afterEvent >= event.seq) continue;
      const { attempts, succeeded } = outcomes.get(`${event.seq} ${subscriptionId}`) ?? {
        attempts: 0,
        succeeded: false,
      };
      if (succeeded) delivered++;
      else if (attempts >= maxAttempts) givenUp++;
      else open.push({ event, subscription, attempts });
    }
  }
  return { events: ofTeam.length, delivered, givenUp, open, end: read.at(-1)?.seq };
}

/** Finds what became of the open deliveries of one subscription. */
async function close(
  database: Database,
  { id }: SubscriptionRow,
  open: readonly Open[],
  droppedAt: number,
  parts: AccountParts,
  result: Record<Counted | "missing", number> & { holes: Hole[] },
): Promise<void> {
  const left = new Map(open.map((each) => [each.event.seq, each]));
  let place: JobPlace | undefined = { dueAt: 0, eventSeq: 0 };
  while (place && left.size > 0) {
    const after: JobPlace = place;
    const jobs: JobPlace[] = await database.ask((db) => selectJobPage(db, id, after, jobsPerPage));
    for (const { eventSeq } of jobs) if (left.delete(eventSeq)) result.waiting++;
    place = jobs.at(-1);
  }
  for (const each of left.values()) {
    const found = await outcomeOf(database, each, droppedAt, parts);
    if (found !== undefined) {
      result[found]++;
      continue;
    }
    result.missing++;
    if (result.holes.length < holesShown) result.holes.push(holeOf(each));
  }
}

/** What became of the delivery; undefined for a hole. */
async function outcomeOf(
  database: Database,
  open: Open,
  droppedAt: number,
  { maxAttempts }: AccountParts,
): Promise<Counted | undefined> {
  for (let look = 0; look < looks; look++) {
    const found = await database.ask((db) => outcomeNow(db, open, droppedAt, maxAttempts));
    if (found !== undefined) return found;
  }
  return undefined;
}

async function outcomeNow(
  db: Connection,
  { event, subscription }: Open,
  droppedAt: number,
  maxAttempts: number,
): Promise<Counted | undefined> {
  // A job leaves the queue with the entry of its attempt, so the queue is read first.
  if (selectJobOf(db, subscription.id, event.seq)) return "waiting";
  const isQueueing = isFannedOut(db, subscription.teamId, event.seq);
  const attempts = (await selectAttemptsOfEvents(db, [event.seq])).filter(
    ({ subscriptionId }) => subscriptionId === subscription.id,
  );
  if (attempts.some(({ succeeded }) => succeeded)) return "delivered";
  if (attempts.length >= maxAttempts) return "given_up";
  if (isQueueing) return "queueing";
  if (event.createdAt <= droppedAt) return "discarded";
  return isForCreator(db, subscription, channelOf(event), event.createdAt) ? undefined : "withheld";
}

function holeOf({ event, subscription, attempts }: Open): Hole {
  return {
    event_id: event.id,
    event_type: event.type,
    created_at: timestamp(event.createdAt),
    webhook: { id: subscription.id, name: subscription.name },
    attempts,
  };
}

/** When events of each subscription were last dropped, in milliseconds since 1970. */
async function lastDrops(db: Connection, teamId: string): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  for (const action of dropping)
    for (const { target, at } of await listAuditEntries(db, teamId, { action, limit: entriesMax })) {
      const id = target.slice(target.indexOf(":") + 1);
      times.set(id, Math.max(times.get(id) ?? 0, Date.parse(at)));
    }
  return times;
}
