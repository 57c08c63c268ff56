import type { Command } from "commander";
import type { Database } from "../../src/database/database.ts";
import { AttemptFeed } from "../../src/deliveries/attempt-feed.ts";
import { listAttempts, showAttempt } from "../../src/deliveries/attempt-log.ts";
import { replay } from "../../src/deliveries/replay.ts";
import { webhookEvents } from "../../src/event-types.ts";
import { DomainError } from "../../src/errors.ts";
import { getSubscriptionNamed } from "../../src/subscriptions/subscriptions.ts";
import { addCommand } from "../invocation/command.ts";
import type { InTeam, Invocation } from "../invocation/invocation.ts";
import { outgoing } from "../invocation/outgoing.ts";
import { relativeTime } from "../terminal/relative-time.ts";
import { stopSignal } from "../invocation/stop-signal.ts";
import type { Column } from "../terminal/table.ts";
import { FailedRequest } from "../terminal/failed-request.ts";
import { wholeNumber } from "../invocation/whole-number.ts";
import { addHeldDeliveries } from "./held-deliveries.ts";

type ListOptions = { webhook?: string; failed?: true; limit: number; follow?: true };
type Listed = Awaited<ReturnType<typeof listAttempts>>[number];

const attemptsMax = 10_000;
const attemptsToChooseFrom = 50;
const longestEvent = Math.max(...webhookEvents.map(({ length }) => length));

/** How often `list --follow` checks for new attempts, in milliseconds. */
const followEveryMs = 250;

/** `parley deliveries`: the log of attempts. */
export function addDeliveries(program: Command, invocation: Invocation): void {
  const noun = addCommand(program, "deliveries", {
    summary: "List, show and replay delivery attempts; decide about held ones",
    examples: ["parley deliveries list"],
  });
  addList(noun, invocation);
  addShow(noun, invocation);
  addReplay(noun, invocation);
  addHeldDeliveries(noun, invocation);
}

function addList(noun: Command, invocation: Invocation): void {
  addCommand(noun, "list", {
    summary: "List attempts, newest first",
    examples: ["parley deliveries list --failed --limit 10", "parley deliveries list --follow"],
  })
    .option("--webhook <webhook>", "filter by subscription")
    .option("--failed", "show only failed attempts")
    .option("--limit <count>", "maximum number of attempts", wholeNumber(1, attemptsMax), 50)
    .option("--follow", "keep printing new attempts until Ctrl-C")
    .action(async (options: ListOptions) => {
      if (options.follow && invocation.output.isJson) {
        throw new DomainError(
          "usage",
          "--follow never ends, so its output cannot be one JSON document: leave --json out.",
        );
      }
      await invocation.inTeam(async (at) => {
        const filter = await filterOf(at, options);
        const attempts = await at.database.ask((db) => listAttempts(db, at.team.id, filter));
        if (options.follow) await follow(invocation, at, { ...filter, attempts });
        else show(invocation, attempts, options);
      });
    });
}

function addShow(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "show [id]", {
    summary: "Show an attempt: its request and the start of the response",
    examples: ["parley deliveries show 0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f"],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const id = await attemptId(invocation, at, given);
    const shown = await at.database.ask((db) => showAttempt(db, at.team.id, id));
    invocation.output.details(
      shown,
      [
        ["webhook", `${shown.webhook.name}, ${shown.webhook.url}`],
        ["event", `${shown.event_type} ${shown.event_id}`],
        ["when", `${shown.created_at}${shown.replay ? ", a replay" : ""}`],
        ["result", shown.error ?? resultOf(shown)],
        ["took", `${shown.duration_ms} ms`],
        ...Object.entries(shown.request.headers).map(([name, value]) => [`> ${name}`, value] as const),
        ["> body", shown.request.body ?? "(no longer stored)"],
        ["< status", shown.response_status === null ? "(no response)" : String(shown.response_status)],
        ["< body", shown.response ?? ""],
      ],
      shown.request.body === null ? undefined : `parley deliveries replay ${shown.id}`,
    );
  });
}

function addReplay(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "replay [id]", {
    summary: "Send an attempt's request again now and show the result",
    examples: ["parley deliveries replay 0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f"],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const { database, team, trace } = at;
    const id = await attemptId(invocation, at, given);
    const parts = { database, work: await trace.work(), ...outgoing(invocation) };
    const sent = await replay(parts, team.id, id, invocation.actor);
    if (!sent.succeeded) {
      throw new FailedRequest(`Replay failed: ${sent.error}. See: parley deliveries show ${sent.id}`, sent);
    }
    invocation.output.done({
      data: sent,
      said: `Replayed: the receiver answered ${sent.response_status}.`,
      brief: sent.id,
      next: `parley deliveries show ${sent.id}`,
    });
  });
}

async function filterOf({ database, team }: InTeam, options: ListOptions) {
  const { webhook, failed, limit } = options;
  const subscription =
    webhook === undefined
      ? undefined
      : await database.ask((db) => getSubscriptionNamed(db, team.id, webhook));
  return { subscriptionId: subscription?.id, onlyFailed: failed, limit };
}

/** The id that was given, or else the one chosen at a prompt from the latest attempts. */
async function attemptId(
  { prompts }: Invocation,
  { database, team }: InTeam,
  given: string | undefined,
): Promise<string> {
  return await prompts.choice(given, {
    question: "Which attempt?",
    option: "ID",
    choices: async () =>
      (await database.ask((db) => listAttempts(db, team.id, { limit: attemptsToChooseFrom }))).map(
        (attempt) => ({
          value: attempt.id,
          label: `${attempt.event_type}, ${resultOf(attempt)}`,
          hint: relativeTime(attempt.created_at),
        }),
      ),
  });
}

/** Prints these attempts and then each new one as it is logged, until a stop signal or until the pipe is closed. */
async function follow(
  { output }: Invocation,
  { database, team }: InTeam,
  { attempts: known, ...filter }: Awaited<ReturnType<typeof filterOf>> & { attempts: readonly Listed[] },
): Promise<void> {
  let isOver = false;
  const end = () => (isOver = true);
  void stopSignal().then(end);
  // A reader that has seen enough, such as `head`, closes the pipe.
  process.stdout.once("error", end);

  output.note("Following. Stop it with Ctrl-C.");
  const feed = new AttemptFeed(database, team.id, { ...filter, limit: attemptsMax }, known);
  for (const attempt of known.toReversed()) output.line(lineOf(attempt));
  for (let seen = 0; !isOver; seen = await changed(database, seen, () => isOver))
    for (const attempt of await feed.next()) output.line(lineOf(attempt));
}

/** With the time of day: "5m ago" would not stay true on the screen. */
function lineOf(attempt: Listed): string {
  const { created_at, event_type, id } = attempt;
  const time = new Date(created_at ?? 0).toLocaleTimeString("en-GB");
  return [time, event_type.padEnd(longestEvent), resultOf(attempt).padEnd("failed 500".length), id].join(
    "  ",
  );
}

/** Resolves when the data may have changed since the version `seen`, to the version of now, or once `isOver`. */
async function changed(database: Database, seen: number, isOver: () => boolean): Promise<number> {
  while (!isOver()) {
    const version = database.file?.dataVersion();
    if (version !== undefined && version !== seen) return version;
    await Bun.sleep(followEveryMs);
    // Only a file says whether anything has changed.
    if (version === undefined) return seen;
  }
  return seen;
}

const columns: ReadonlyArray<Column<Listed>> = [
  { title: "WHEN", of: ({ created_at }) => relativeTime(created_at) },
  { title: "EVENT", of: ({ event_type }) => event_type },
  { title: "RESULT", of: resultOf, canShrink: true },
  { title: "ID", of: ({ id }) => id },
];

function show({ output }: Invocation, attempts: readonly Listed[], { failed }: ListOptions): void {
  // `place` is the cursor of --follow.
  if (output.isJson) return output.json(attempts.map((attempt) => ({ ...attempt, place: undefined })));
  const none = failed ? "No failed attempts." : "No attempts yet.";
  output.list(attempts, columns, { none, ...(attempts.length > 0 && { next: "parley deliveries show ID" }) });
}

/** The response status in a word or two; without a response, the error. */
function resultOf({
  succeeded,
  response_status,
  error,
  replay: isReplay,
}: Omit<Listed, "place" | "webhook_id">): string {
  const failure = response_status === null ? (error ?? "failed") : `failed ${response_status}`;
  const result = succeeded ? `ok ${response_status}` : failure;
  return isReplay ? `${result} (replay)` : result;
}
