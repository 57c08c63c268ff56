import type { Rows } from "../appended.ts";
import type { Commit } from "../commit.ts";
import type { Connections } from "./connections.ts";
import { isUniqueViolation } from "./errors.ts";
import { Retries } from "./retries.ts";
import { streakChanges, takeStreaks } from "../streaks.ts";
import type { Query, Result } from "./statements.ts";

/**
 * Writes the rows that a commit's calls have put down, unless the workspace is of another version than they saw, an event
 * is still being queued where they presumed none, or failed attempts disable subscriptions. Returns which, the version
 * now, and the ids of these subscriptions.
 */
export type AppendRows = (
  commit: Commit,
  version: string | null,
) => Promise<{
  said: "written" | "stale" | "fan_outs" | "disabling";
  version: string;
  disabling: readonly string[];
}>;

const parameters = 47;

/** The tables that each kind of rows changes. */
const tablesOf: Record<keyof Rows, readonly string[]> = {
  messages: ["channels", "messages"],
  events: ["events", "jobs"],
  settled: ["attempts", "jobs", "subscriptions"],
  tokenUses: ["tokens"],
  queueLeads: ["queue_clock"],
};

/** See `migrations/postgres/0006_failed_attempts.sql`. */
const appendQuery = {
  sql: `SELECT said, stamp_now, event_seqs, attempt_seqs, streaks, disabling FROM append_rows(${Array.from({ length: parameters }, (_, at) => `$${at + 1}`).join(", ")})`,
  isChange: true,
  hasResult: true,
};

/** The query that writes the rows, with the tables that these change. */
export function appendQueryOf(rows: Rows): Query {
  const kinds = (Object.keys(tablesOf) as Array<keyof Rows>).filter((kind) => rows[kind].length > 0);
  return { ...appendQuery, tables: [...new Set(kinds.flatMap((kind) => tablesOf[kind]))] };
}

type Said = [
  said: "written" | "found" | "stale" | "fan_outs" | "disabling",
  version: string,
  eventSeqs: number[],
  attemptSeqs: number[],
  streaks: number[],
  disabling: string[],
];

/** Returns the function that writes rows in a commit of their own. Call it for one commit after the other. */
export function appendRowsOver(connections: Connections): AppendRows {
  const session = crypto.randomUUID();
  let number = 0;
  return async (commit, version) => {
    const { appended, presumesNoFanOuts } = commit;
    const rows = appended.takeAll();
    number++;
    const retries = new Retries();
    for (let isRepeat = false; ; isRepeat = true) {
      try {
        const own = { session, number, isRepeat };
        const result = await connections.query(
          appendQuery.sql,
          parametersOf(rows, { own, version, presumesNoFanOuts }),
        );
        const [said, versionNow, , , , disabling] = result.rows[0] as unknown as Said;
        if (said === "written" || said === "found") takeNumbers(rows, result, commit);
        return { said: said === "found" ? "written" : said, version: versionNow, disabling };
      } catch (error) {
        // Another node has used a client_uuid first, which its channel's next look finds.
        if (isUniqueViolation(error, "messages_by_client_uuid"))
          return { said: "stale", version: version ?? "", disabling: [] };
        // A failure that an earlier commit has written, of which nobody heard.
        if (isUniqueViolation(error, "attempts_id_key")) {
          const failed = rows.settled.filter(({ failure }) => failure);
          const disabling = failed.map(({ job }) => job.subscriptionId);
          return { said: "disabling", version: version ?? "", disabling };
        }
        // Rows whose connection broke may have arrived, or be arriving now: sent again, the commit finds itself.
        if (!retries.after(error)) throw error;
      }
    }
  };
}

/** A commit of its own: which of its process's it is, and whether it may have been sent before. */
type OwnCommit = { session: string; number: number; isRepeat: boolean };

/** The parameters of `appendQueryOf`. Without a commit of its own it is part of a transaction that holds the lock. */
export function parametersOf(
  { messages, events, settled, tokenUses, queueLeads }: Rows,
  {
    own,
    version = null,
    presumesNoFanOuts = false,
  }: { own?: OwnCommit; version?: string | null; presumesNoFanOuts?: boolean } = {},
): unknown[] {
  const jobs = events.flatMap(({ subscriptionIds }, at) =>
    subscriptionIds.map((subscriptionId) => ({ event: at + 1, subscriptionId })),
  );
  const streaks = [...streakChanges(settled)];
  const lead = queueLeads.at(-1);
  const uses = [...new Map(tokenUses.map(({ tokenId, at }) => [tokenId, at]))];
  return [
    own?.session ?? null,
    own?.number ?? null,
    own?.isRepeat ?? false,
    version,
    presumesNoFanOuts && events.length > 0,
    messages.map(({ id }) => id),
    messages.map(({ channelId }) => channelId),
    messages.map(({ authorId }) => authorId),
    messages.map(({ type }) => type),
    messages.map(({ body }) => body),
    messages.map(({ username }) => username),
    messages.map(({ iconUrl }) => iconUrl),
    messages.map(({ incomingWebhookId }) => incomingWebhookId),
    messages.map(({ clientUuid }) => clientUuid),
    messages.map(({ replyToId }) => replyToId),
    messages.map(({ threadRootId }) => threadRootId),
    messages.map(({ sentToChannel }) => (sentToChannel ? 1 : 0)),
    messages.map(({ createdAt }) => createdAt),
    events.map(({ row }) => row.id),
    events.map(({ row }) => row.type),
    events.map(({ row }) => row.data),
    events.map(({ row }) => row.createdAt),
    events.map(({ row }) => row.traceparent),
    jobs.map(({ event }) => event),
    jobs.map(({ subscriptionId }) => subscriptionId),
    settled.map(({ attempt }) => attempt.id),
    settled.map(({ attempt }) => attempt.subscriptionId),
    settled.map(({ attempt }) => attempt.eventId),
    settled.map(({ attempt }) => attempt.eventType),
    settled.map(({ attempt }) => attempt.responseStatus),
    settled.map(({ attempt }) => attempt.responseStart?.toString("base64") ?? null),
    settled.map(({ attempt }) => attempt.error),
    settled.map(({ attempt }) => attempt.durationMs),
    settled.map(({ attempt }) => attempt.createdAt),
    settled.map(({ job }) => job.eventSeq),
    settled.map(({ job }) => job.dueAt),
    settled.map(({ failure }) => failure?.attemptsBefore ?? null),
    settled.map(({ failure }) => failure?.nextDueAt ?? null),
    streaks.map(([id]) => id),
    streaks.map(([, { lastSuccessAt }]) => lastSuccessAt),
    streaks.map(([, { failures }]) => failures),
    streaks.map(([, { allFailures }]) => allFailures),
    streaks.map(([, { disableAfter }]) => disableAfter),
    uses.map(([id]) => id),
    uses.map(([, at]) => at),
    lead?.aheadMs ?? null,
    lead?.toleranceMs ?? null,
  ];
}

/** Gives the rows the numbers that they were written with. Subscriptions whose jobs were queued have new work. */
export function takeNumbers({ events, settled }: Rows, { rows }: Result, commit: Commit): void {
  const [, , eventSeqs, attemptSeqs, streaks] = rows[0] as unknown as Said;
  for (const [at, event] of events.entries()) {
    event.seq = Number(eventSeqs[at] ?? 0);
    for (const id of event.subscriptionIds) commit.subscriptionsWithWork.add(id);
    for (const id of event.readBy) commit.subscriptionsToRead.add(id);
  }
  for (const [at, each] of settled.entries()) each.seq = Number(attemptSeqs[at] ?? 0);
  if (streaks.length === 0) return;
  const subscriptionIds = [...streakChanges(settled).keys()];
  takeStreaks(settled, new Map(subscriptionIds.map((id, at) => [id, Number(streaks[at] ?? 0)])));
}
