import { type Command, Option } from "commander";
import { readSetting } from "../../src/config.ts";
import { AttemptFeed } from "../../src/deliveries/attempt-feed.ts";
import {
  type AttemptFilter,
  type ListedAttempt,
  searchAttempts,
} from "../../src/deliveries/attempt-search.ts";
import { DomainError } from "../../src/errors.ts";
import { type WebhookEvent, webhookEvents } from "../../src/event-types.ts";
import { findMessage, timesOf } from "../../src/messages/search.ts";
import { eventsOfMessage, findEvent } from "../../src/outbox/event-search.ts";
import { getSubscriptionNamed } from "../../src/subscriptions/subscriptions.ts";
import { timestamp } from "../../src/timestamp.ts";
import { addCommand } from "../invocation/command.ts";
import { parseMoment } from "../invocation/durations.ts";
import { follow } from "../invocation/following.ts";
import type { InTeam, Invocation } from "../invocation/invocation.ts";
import { wholeNumber } from "../invocation/whole-number.ts";
import { attemptColor, resultOf } from "../terminal/attempt-view.ts";
import { idColumns, shortId } from "../terminal/id-columns.ts";
import { relativeTime } from "../terminal/relative-time.ts";
import type { Column } from "../terminal/table.ts";

/** `since` and `until` in milliseconds since 1970. */
type ListOptions = {
  webhook?: string;
  event?: string;
  message?: string;
  type?: WebhookEvent;
  since?: number;
  until?: number;
  failed?: true;
  limit: number;
  follow?: true;
};

const attemptsMax = 10_000;
const longestEvent = Math.max(...webhookEvents.map(({ length }) => length));
const longestResult = "failed 500".length;

/** A terminal of this width has room for whole ids. */
const roomForIds = 110;

/** Adds `parley deliveries list`. */
export function addDeliveriesList(noun: Command, invocation: Invocation): void {
  addCommand(noun, "list", {
    summary: "List attempts, newest first",
    examples: [
      "parley deliveries list --failed --since 12h",
      "parley deliveries list --webhook CI --type message.created --limit 10",
      "parley deliveries list --message 6b8a1c2d",
      "parley deliveries list --follow",
    ],
  })
    .option("--webhook <webhook>", "filter by subscription")
    .option("--event <id>", "filter by event, named by its id or the start or end of it")
    .option("--message <id>", "filter by message, named likewise: its events, from the posting on")
    .addOption(new Option("--type <event>", "filter by event type").choices(webhookEvents))
    .option("--since <time>", "show attempts from then on: 12h, 7d or 2026-05-04T10:30", parseMoment)
    .option("--until <time>", "show attempts up to then", parseMoment)
    .option("--failed", "show only failed attempts")
    .option("--limit <count>", "maximum number of attempts", wholeNumber(1, attemptsMax), 50)
    .option("--follow", "keep printing new attempts until Ctrl-C")
    .action(async (options: ListOptions) => {
      refuseEndless(invocation, options);
      await invocation.inTeam(async (at) => {
        const filter = await filterOf(at, options);
        const found = await at.database.ask((db) => searchAttempts(db, at.team.id, filter));
        if (options.follow) await followLog(invocation, at, filter, found.attempts);
        else show(invocation, found, options);
      });
    });
}

/** @throws DomainError `usage` for options that `--follow` cannot be combined with. */
function refuseEndless({ output }: Invocation, { follow, until }: ListOptions): void {
  if (!follow) return;
  if (output.isJson) {
    throw new DomainError(
      "usage",
      "--follow never ends, so its output cannot be one JSON document: leave --json out.",
    );
  }
  if (until !== undefined) {
    throw new DomainError("usage", "--follow waits for what is to come: leave --until out.");
  }
}

async function filterOf({ database, team }: InTeam, options: ListOptions): Promise<AttemptFilter> {
  const { webhook, event, message, type, failed, since, until, limit } = options;
  const found = await database.ask(async (db) => {
    const seqs: number[][] = [];
    if (event !== undefined) seqs.push([(await findEvent(db, team.id, event)).seq]);
    if (message !== undefined) {
      const posted = findMessage(db, team.id, message);
      seqs.push((await eventsOfMessage(db, posted, timesOf(db, posted))).map(({ seq }) => seq));
    }
    const subscription = webhook === undefined ? undefined : await getSubscriptionNamed(db, team.id, webhook);
    return { subscriptionId: subscription?.id, seqs };
  });
  const [first, ...others] = found.seqs;
  const eventSeqs = first?.filter((seq) => others.every((other) => other.includes(seq)));
  const { subscriptionId } = found;
  return { subscriptionId, eventSeqs, eventType: type, onlyFailed: failed, since, until, limit };
}

function show(
  invocation: Invocation,
  { attempts, stoppedAt }: { attempts: readonly ListedAttempt[]; stoppedAt: number | null },
  { failed }: ListOptions,
): void {
  const { output } = invocation;
  const maxAttempts = maxAttemptsOf(invocation);
  // `place` is the cursor of --follow.
  if (output.isJson)
    output.json(attempts.map((attempt) => ({ ...attempt, max_attempts: maxAttempts, place: undefined })));
  else {
    const none = failed ? "No failed attempts." : "No attempts yet.";
    const next = attempts.length > 0 ? { next: "parley deliveries show ID" } : {};
    output.list(attempts, columnsOf(maxAttempts), { none, ...next });
  }
  if (stoppedAt === null) return;
  const at = timestamp(stoppedAt);
  output.note(`The search ended at ${at}. Go on with --until ${at}.`);
}

function maxAttemptsOf({ dataDir, environment }: Invocation): number {
  return readSetting("webhooksMaxAttempts", dataDir, environment).webhooksMaxAttempts;
}

function columnsOf(maxAttempts: number): ReadonlyArray<Column<ListedAttempt>> {
  return [
    { title: "WHEN", of: ({ created_at }) => relativeTime(created_at) },
    { title: "WEBHOOK", of: ({ webhook }) => webhook.name, canShrink: true },
    { title: "EVENT", of: ({ event_type }) => event_type },
    { title: "TRY", of: (attempt) => tryOf(attempt, maxAttempts) },
    { title: "RESULT", of: resultOf, canShrink: true, color: attemptColor },
    ...idColumns<ListedAttempt>(({ id }) => id, roomForIds),
  ];
}

/** `2/5`; with more attempts than are made now, only the number. */
function tryOf({ attempt, replay }: ListedAttempt, maxAttempts: number): string {
  if (replay) return "replay";
  if (attempt === null) return "";
  return attempt > maxAttempts ? String(attempt) : `${attempt}/${maxAttempts}`;
}

/** Prints these attempts and then each new one as it is logged, until a stop signal or until the pipe is closed. */
async function followLog(
  invocation: Invocation,
  { database, team }: InTeam,
  filter: AttemptFilter,
  known: readonly ListedAttempt[],
): Promise<void> {
  const { output } = invocation;
  const maxAttempts = maxAttemptsOf(invocation);
  const feed = new AttemptFeed(database, team.id, { ...filter, limit: attemptsMax }, known);
  const print = (attempt: ListedAttempt) => output.line(lineOf(attempt, maxAttempts));
  const begin = () => {
    output.note("Following. Stop it with Ctrl-C.");
    known.toReversed().forEach(print);
  };
  await follow(database, begin, async () => (await feed.next()).forEach(print));
}

/** With the time of day: "5m ago" would not stay true on the screen. */
function lineOf(attempt: ListedAttempt, maxAttempts: number): string {
  const { created_at, event_type, id, webhook } = attempt;
  const time = new Date(created_at ?? 0).toLocaleTimeString("en-GB");
  const hasRoom = !process.stdout.isTTY || process.stdout.columns >= roomForIds;
  return [
    time,
    event_type.padEnd(longestEvent),
    tryOf(attempt, maxAttempts).padEnd("replay".length),
    resultOf(attempt).padEnd(longestResult),
    hasRoom ? id : shortId(id),
    webhook.name,
  ].join("  ");
}
