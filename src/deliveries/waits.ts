import type { AuditEntry } from "../audit/audit.ts";
import type { Connection } from "../database/database.ts";
import type { SubscriptionRow } from "../subscriptions/store.ts";
import { type LoggedAttempt, selectAttemptNumberAt, selectAttemptsBack } from "./attempt-search-store.ts";
import type { Span } from "./timeline.ts";
import { paceMs } from "./track-record.ts";

/** `WEBHOOKS_MAX_ATTEMPTS`, and `WEBHOOKS_BACKOFF_BASE` in milliseconds. */
export type Rules = { maxAttempts: number; backoffBaseMs: number };

/** What is known of the delivery of one event to one subscription. Times are in milliseconds since 1970. */
export type Facts = {
  row: SubscriptionRow;
  /** From the event to the end of its delivery, or to now. */
  whole: { from: number; to: number };
  /** The attempts, oldest first, without replays. */
  tries: readonly LoggedAttempt[];
  /** What the audit log says about the subscription and about held deliveries of the team, oldest first. */
  entries: readonly AuditEntry[];
  /** When the next attempt is due. */
  dueAt: number | undefined;
  /** Since when deliveries to it are held. */
  heldSince: number | undefined;
  isOver: boolean;
  nameOf: (actor: string) => string;
};

/** How many attempts at other events are looked at. */
const neighboursMax = 500;
/** How far the times of neighbours in the log may differ, in milliseconds. */
const slackMs = 60_000;
/** The longest backoff for its base, because of its jitter, and the longest that a receiver may ask for, in milliseconds. */
const jitter = 1.1;
const longestAskedMs = 3_600_000;

/** What the time of the delivery was spent on, as far as it is known: of spans that overlap the first counts. */
export async function spansOf(db: Connection, facts: Facts, rules: Rules): Promise<Span[]> {
  const tried = attemptSpans(facts, rules);
  const paces = await paceSpans(db, facts, rules);
  return [
    ...tried,
    ...disabledSpans(facts),
    ...heldSpans(facts, tried),
    ...backoffSpans(facts, tried, rules),
    ...paces,
  ];
}

function attemptSpans({ whole, tries }: Facts, { maxAttempts }: Rules): Span[] {
  let free = whole.from;
  return tries.map(({ createdAt, durationMs, error, responseStatus }, index) => {
    const to = Math.max(free, createdAt);
    const from = Math.max(free, to - durationMs);
    free = to;
    const answer = error ?? `the receiver answered ${responseStatus}`;
    const of = index < maxAttempts ? ` of ${maxAttempts}` : "";
    return { from, to, cause: "attempt", what: `attempt ${index + 1}${of}: ${answer}` };
  });
}

function disabledSpans({ row, whole, entries, nameOf }: Facts): Span[] {
  const spans: Span[] = [];
  let begun: { at: number; who: string } | undefined;
  let isFirst = true;
  for (const { action, at, actor, details } of entries) {
    const time = Date.parse(at);
    if (action === "webhook.disabled" || action === "webhook.auto_disabled") {
      const failures =
        action === "webhook.auto_disabled"
          ? ` after ${String(details.consecutive_failures)} failures in a row`
          : "";
      begun = { at: time, who: `by ${nameOf(actor)}${failures}` };
    } else if (action === "webhook.enabled") {
      // Without an entry of the beginning it was disabled before the log of today begins.
      const { at: from, who } = begun ?? { at: isFirst ? whole.from : time, who: "" };
      spans.push(disabledSpan(from, time, who));
      begun = undefined;
    } else continue;
    isFirst = false;
  }
  if (row.disabledAt !== null) spans.push(disabledSpan(row.disabledAt, whole.to, begun?.who ?? ""));
  return spans;
}

function disabledSpan(from: number, to: number, who: string): Span {
  const since = new Date(from).toISOString();
  return { from, to, cause: "disabled", what: `the subscription was disabled at ${since} ${who}`.trimEnd() };
}

function heldSpans({ whole, entries, heldSince, isOver, nameOf }: Facts, tried: readonly Span[]): Span[] {
  const spans: Span[] = [];
  for (const { action, at, actor } of entries) {
    if (action !== "deliveries.released") continue;
    const to = Date.parse(at);
    // The log does not say since when, but an attempt was made before.
    const from = tried.findLast((attempt) => attempt.to <= to)?.to ?? whole.from;
    if (to <= from) continue;
    spans.push({
      from,
      to,
      cause: "held",
      what: `deliveries were held until ${nameOf(actor)} released them`,
    });
  }
  if (heldSince !== undefined && !isOver) {
    const what = "deliveries are held: see parley deliveries held";
    spans.push({ from: heldSince, to: whole.to, cause: "held", what });
  }
  return spans;
}

function backoffSpans(
  { tries, whole, dueAt }: Facts,
  tried: readonly Span[],
  { backoffBaseMs }: Rules,
): Span[] {
  return tried.flatMap((attempt, index) => {
    const { succeeded, responseStatus } = tries[index] ?? { succeeded: true, responseStatus: null };
    if (succeeded) return [];
    const next = tried[index + 1]?.from;
    const asks = responseStatus === 429 || responseStatus === 503;
    const longest = Math.max(backoffBaseMs * 6 ** index * jitter, asks ? longestAskedMs : 0);
    const to = next === undefined ? (dueAt ?? attempt.to) : Math.min(next, attempt.to + Math.ceil(longest));
    const what = `backoff after attempt ${index + 1}`;
    if (to <= attempt.to) return [];
    return [{ from: attempt.to, to: Math.min(to, whole.to), cause: "backoff", what }];
  });
}

/** After failures in a row, of whichever events, the next attempt waits longer and longer. */
async function paceSpans(db: Connection, { row, whole }: Facts, { backoffBaseMs }: Rules): Promise<Span[]> {
  const before = selectAttemptNumberAt(db, whole.to + slackMs) + 1;
  const page = { subscriptionId: row.id, before, after: 0 };
  let streak = 0;
  return (await selectAttemptsBack(db, page, neighboursMax)).toReversed().flatMap((attempt) => {
    if (attempt.isReplay) return [];
    streak = attempt.succeeded ? 0 : streak + 1;
    const pause = paceMs(streak, backoffBaseMs);
    const { createdAt } = attempt;
    if (pause === 0 || createdAt + pause <= whole.from || createdAt >= whole.to) return [];
    const what = `paced: ${streak} attempts for this subscription had failed in a row`;
    return [{ from: createdAt, to: createdAt + Math.round(pause), cause: "pace", what }];
  });
}
