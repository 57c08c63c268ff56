import { type AuditEntry, listAuditEntries } from "../audit/audit.ts";
import { selectChannel } from "../channels/store.ts";
import type { Connection, Database } from "../database/database.ts";
import { type FoundMessage, timesOf } from "../messages/search.ts";
import { type AddressGuard, vet } from "../outbound/address-guard.ts";
import { isForCreator } from "../outbox/creator-visibility.ts";
import { channelOf, eventsOfMessage } from "../outbox/event-search.ts";
import type { NumberedEvent } from "../outbox/event-search-store.ts";
import { selectAhead } from "../outbox/job-store.ts";
import { findCreator } from "../subscriptions/creators.ts";
import type { SubscriptionRow } from "../subscriptions/store.ts";
import { timestamp } from "../timestamp.ts";
import { blocked } from "./attempt.ts";
import { type LoggedAttempt, selectAttemptsOfEvent } from "./attempt-search-store.ts";
import { isFannedOut, selectAllSubscriptionsOf, selectJobOf } from "./explain-store.ts";
import { selectHold, selectHoldExceptions } from "./hold-store.ts";
import { type Span, timelineOf } from "./timeline.ts";
import { type Facts, type Rules, spansOf } from "./waits.ts";
import { type Subject, whyNotAsked } from "./why-not-asked.ts";

/** What became of an event for one subscription, and why. */
export type Explained = {
  webhook: { id: string; name: string };
  outcome:
    | "delivered"
    | "given_up"
    | "waiting"
    | "queueing"
    | "discarded"
    | "deleted"
    | "withheld"
    | "forgotten"
    | "missing"
    | "not_asked";
  why: string;
  /** From the event to its end, or to now while it waits; null when the subscription did not ask for it. */
  age_ms: number | null;
  /** When the next attempt is or was due; null while the subscription is disabled. */
  due_at: string | null;
  /** Its parts add up to `age_ms`. */
  timeline: Array<{ at: string; duration_ms: number; cause: Span["cause"]; what: string }>;
  /** What was sent again by hand. */
  replays: Array<{ id: string; at: string; succeeded: boolean }>;
};

/** One event with what became of it for each subscription. `id` is null when it was not stored, since nobody asked for it. */
export type ExplainedEvent = {
  event: { id: string | null; type: string; created_at: string; channel: { id: string; name: string } };
  webhooks: Explained[];
};

const dayMs = 86_400_000;

/** How many entries of each action are read of the audit log. */
const entriesMax = 1_000;

const actions = [
  "webhook.disabled",
  "webhook.auto_disabled",
  "webhook.enabled",
  "webhook.edited",
  "webhook.pending_discarded",
  "webhook.held_discarded",
  "deliveries.released",
];

/** What ends deliveries without an attempt. */
const drops = new Set(["webhook.pending_discarded", "webhook.held_discarded"]);

/**
 * Explains for each subscription of the team, or for one, what became of the event. A blocked attempt is explained by
 * the rule that refuses the address now, which may take a DNS look-up.
 */
export async function explainEvent(
  database: Database,
  teamId: string,
  event: NumberedEvent,
  parts: ExplainParts,
): Promise<ExplainedEvent> {
  return await explainSubject(database, teamId, { ...event, channelId: channelOf(event) }, parts);
}

/** As `explainEvent`, for the events about the message; for its posting also when nobody asked for that. */
export async function explainMessage(
  database: Database,
  teamId: string,
  message: FoundMessage,
  parts: ExplainParts,
): Promise<ExplainedEvent[]> {
  const events = await database.ask((db) => eventsOfMessage(db, message, timesOf(db, message)));
  const { createdAt, channelId } = message;
  const posting = { seq: undefined, id: null, type: "message.created", createdAt, channelId };
  const isStored = events.some(({ type }) => type === posting.type);
  const subjects = events.map((event) => ({ ...event, channelId: channelOf(event) }));
  const explained: ExplainedEvent[] = [];
  for (const subject of isStored ? subjects : [posting, ...subjects])
    explained.push(await explainSubject(database, teamId, subject, parts));
  return explained;
}

/** What an explanation depends on. `now` is in milliseconds since 1970. */
export type ExplainParts = Rules & {
  now: number;
  guard: AddressGuard;
  timeoutMs: number;
  /** `WEBHOOKS_DELIVERY_RETENTION_DAYS`. */
  retentionDays: number;
  /** Only this subscription. */
  subscriptionId?: string | undefined;
};

async function explainSubject(
  database: Database,
  teamId: string,
  subject: Subject,
  parts: ExplainParts,
): Promise<ExplainedEvent> {
  const { channel, found } = await database.ask((db) => gather(db, teamId, subject, parts));
  const webhooks: Explained[] = [];
  for (const { row, explained } of found) {
    const isBlocked = explained.timeline.some(({ what }) => what.endsWith(blocked));
    const why = isBlocked ? await whyBlocked(row.url, parts) : undefined;
    const timeline = explained.timeline.map((span) =>
      why !== undefined && span.what.endsWith(blocked) ? { ...span, what: `${span.what} (${why})` } : span,
    );
    webhooks.push({ ...explained, timeline });
  }
  const { id, type, createdAt, channelId } = subject;
  const shown = { id: channelId, name: channel };
  return { event: { id, type, created_at: timestamp(createdAt), channel: shown }, webhooks };
}

async function whyBlocked(url: string, { guard, timeoutMs }: ExplainParts): Promise<string> {
  const vetted = await vet(url, guard, timeoutMs);
  return vetted.ok ? "the address is allowed now" : `now: ${vetted.detail}`;
}

async function gather(db: Connection, teamId: string, subject: Subject, parts: ExplainParts) {
  const entries: AuditEntry[] = [];
  for (const action of actions)
    entries.push(...(await listAuditEntries(db, teamId, { action, limit: entriesMax })));
  entries.sort((a, b) => (a.at < b.at ? -1 : 1));
  const attempts = Map.groupBy(
    subject.seq === undefined ? [] : await selectAttemptsOfEvent(db, subject.seq),
    ({ subscriptionId }) => subscriptionId,
  );
  const found: Array<{ row: SubscriptionRow; explained: Explained }> = [];
  for (const row of await selectAllSubscriptionsOf(db, teamId)) {
    if (parts.subscriptionId !== undefined && row.id !== parts.subscriptionId) continue;
    if (row.deletedAt !== null && row.deletedAt <= subject.createdAt) continue;
    const about = { row, attempts: attempts.get(row.id) ?? [], entries: entriesAbout(row, entries) };
    found.push({ row, explained: await explainOne(db, subject, about, parts) });
  }
  return { channel: selectChannel(db, teamId, subject.channelId)?.name ?? "", found };
}

type About = { row: SubscriptionRow; attempts: LoggedAttempt[]; entries: AuditEntry[] };

function entriesAbout({ id, teamId }: SubscriptionRow, entries: readonly AuditEntry[]): AuditEntry[] {
  return entries.filter(({ target }) => target === `webhook:${id}` || target === `team:${teamId}`);
}

async function explainOne(
  db: Connection,
  subject: Subject,
  { row, attempts, entries }: About,
  parts: ExplainParts,
): Promise<Explained> {
  const tries = attempts.filter(({ isReplay }) => !isReplay);
  const job = subject.seq === undefined ? undefined : selectJobOf(db, row.id, subject.seq);
  const webhook = { id: row.id, name: row.name };
  const replays = attempts
    .filter(({ isReplay }) => isReplay)
    .map(({ id, createdAt, succeeded }) => ({ id, at: timestamp(createdAt), succeeded }));
  const whyNot = tries.length > 0 || job ? undefined : whyNotAsked(db, subject, row, entries);
  if (whyNot !== undefined) {
    return { webhook, outcome: "not_asked", why: whyNot, age_ms: null, due_at: null, timeline: [], replays };
  }
  const dueAt = job && job.dueAt - selectAhead(db);
  const end = endOf(db, subject, { row, tries, entries, dueAt }, parts);
  const hold = selectHold(db);
  const heldSince = hold && !selectHoldExceptions(db).has(row.id) ? hold.since : undefined;
  const nameOf = (actor: string) => findCreator(db, row.teamId, actor).name;
  const whole = { from: subject.createdAt, to: Math.max(subject.createdAt, end.at) };
  const facts: Facts = { row, whole, tries, entries, dueAt, heldSince, isOver: end.isOver, nameOf };
  const timeline = timelineOf(whole, await spansOf(db, facts, parts), end.rest);
  return {
    webhook,
    outcome: end.outcome,
    why: end.why,
    age_ms: whole.to - whole.from,
    due_at: timestamp(end.isOver || row.status === "disabled" ? null : (dueAt ?? null)),
    timeline: timeline.map(({ from, to, cause, what }) => ({
      at: timestamp(from),
      duration_ms: to - from,
      cause,
      what,
    })),
    replays,
  };
}

type End = Pick<Explained, "outcome" | "why"> & {
  at: number;
  isOver: boolean;
  /** What the time without a known cause was. */
  rest: Pick<Span, "cause" | "what">;
};

const turn = { cause: "turn", what: "waited for its turn" } as const;

function endOf(
  db: Connection,
  { seq, createdAt, channelId }: Subject,
  { row, tries, entries, dueAt }: Pick<Facts, "row" | "tries" | "entries" | "dueAt">,
  { now, maxAttempts, retentionDays }: ExplainParts,
): End {
  const last = tries.at(-1);
  const over = (outcome: Explained["outcome"], at: number, why: string): End => ({
    outcome,
    why,
    at,
    isOver: true,
    rest: turn,
  });
  const open = (outcome: Explained["outcome"], why: string, rest: End["rest"] = turn): End => ({
    outcome,
    why,
    at: now,
    isOver: false,
    rest,
  });
  if (dueAt !== undefined && row.deletedAt === null) return open("waiting", whyWaiting(row, dueAt, now));
  if (last?.succeeded)
    return over("delivered", last.createdAt, `the receiver answered ${last.responseStatus}`);
  if (last && tries.length >= maxAttempts)
    return over("given_up", last.createdAt, `all ${tries.length} attempts failed`);
  const since = last?.createdAt ?? createdAt;
  const drop = entries.find(({ action, at }) => drops.has(action) && Date.parse(at) >= since);
  if (drop) {
    const who = findCreator(db, row.teamId, drop.actor).name;
    return over("discarded", Date.parse(drop.at), `${who} discarded what waited`);
  }
  if (row.deletedAt !== null) return over("deleted", row.deletedAt, "the subscription was deleted");
  if (seq !== undefined && isFannedOut(db, row.teamId, seq)) {
    const what = "is being queued for many subscriptions";
    return open("queueing", what, { cause: "fan_out", what });
  }
  if (!isForCreator(db, row, channelId)) {
    const what = "its creator may not see the channel (WEBHOOKS_VISIBILITY=creator)";
    return open("withheld", what, { cause: "withheld", what });
  }
  const unknown = { cause: "unknown", what: "not known" } as const;
  if (retentionDays > 0 && createdAt < now - retentionDays * dayMs)
    return open("forgotten", "it is older than the log of attempts", unknown);
  return open(
    "missing",
    last ? "it failed, and no further attempt waits" : "there is no attempt, and none waits",
    unknown,
  );
}

function whyWaiting({ status }: SubscriptionRow, dueAt: number, now: number): string {
  if (status === "disabled") return "waits until the subscription is enabled";
  return dueAt > now ? "waits for its next attempt" : "is due, and waits for its turn";
}
