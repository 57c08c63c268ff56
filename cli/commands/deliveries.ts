import type { Command } from "commander";
import type { Database } from "../../src/database/open.ts";
import { listAttempts, showAttempt } from "../../src/deliveries/attempts.ts";
import { replay } from "../../src/deliveries/replay.ts";
import { DomainError } from "../../src/errors.ts";
import { getSubscription } from "../../src/subscriptions/subscriptions.ts";
import { addCommand } from "../command.ts";
import type { InTeam, Invocation } from "../invocation.ts";
import { outgoing } from "../outgoing.ts";
import { relativeTime } from "../relative-time.ts";
import { stopSignal } from "../stop-signal.ts";
import type { Column } from "../table.ts";
import { wholeNumber } from "../whole-number.ts";

type ListOptions = { webhook?: string; failed?: true; limit: number; follow?: true };
type Listed = Awaited<ReturnType<typeof listAttempts>>[number];

const attemptsMax = 10_000;

/** How often a list that follows looks whether anything was written, in milliseconds. */
const followEveryMs = 250;

/** `parley deliveries`: the log of attempts. */
export function addDeliveries(program: Command, invocation: Invocation): void {
  const noun = addCommand(program, "deliveries", {
    summary: "Look into the log of delivery attempts, and replay one",
    examples: ["parley deliveries list --failed"],
  });
  addList(noun, invocation);
  addShow(noun, invocation);
  addReplay(noun, invocation);
}

function addList(noun: Command, invocation: Invocation): void {
  addCommand(noun, "list", {
    summary: "List attempts, newest first",
    examples: ["parley deliveries list --failed --limit 10", "parley deliveries list --follow"],
  })
    .option("--webhook <id>", "only those of this subscription")
    .option("--failed", "only those that failed")
    .option("--limit <count>", "at most so many", wholeNumber(1, attemptsMax), 50)
    .option("--follow", "go on showing new ones, until Ctrl-C")
    .action(async (options: ListOptions) => {
      if (options.follow && invocation.output.isJson) {
        throw new DomainError(
          "usage",
          "--follow never ends, so it cannot be one JSON document: leave --json out.",
        );
      }
      await invocation.inTeam(async (at) => {
        const filter = await filterOf(at, options);
        const attempts = await listAttempts(at.database.read, at.team.id, filter);
        const newest = attempts[0]?.place ?? 0;
        show(invocation, options.follow ? attempts.toReversed() : attempts, options);
        if (options.follow) await follow(invocation, at, { ...filter, after: newest });
      });
    });
}

function addShow(noun: Command, invocation: Invocation): void {
  addCommand(noun, "show <id>", {
    summary: "Show an attempt: what was sent, and how the answer began",
    examples: ["parley deliveries show 0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f"],
  }).action(async (id: string) => {
    await invocation.inTeam(async ({ database, team }) => {
      const shown = await showAttempt(database.read, team.id, id);
      invocation.output.details(
        shown,
        [
          ["Subscription", `${shown.webhook.name}, ${shown.webhook.url}`],
          ["Event", `${shown.event_type} ${shown.event_id}`],
          ["When", `${shown.created_at}${shown.replay ? ", a replay" : ""}`],
          ["Result", resultOf(shown)],
          ["Took", `${shown.duration_ms} ms`],
          ...Object.entries(shown.request.headers).map(([name, value]) => [`> ${name}`, value] as const),
          ["> body", shown.request.body ?? "(no longer stored)"],
          ["< answer", shown.response ?? ""],
        ],
        shown.request.body === null ? undefined : `parley deliveries replay ${shown.id}`,
      );
    });
  });
}

function addReplay(noun: Command, invocation: Invocation): void {
  addCommand(noun, "replay <id>", {
    summary: "Send what an attempt sent once more, now, and show how that went",
    examples: ["parley deliveries replay 0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f"],
  }).action(async (id: string) => {
    await invocation.inTeam(async ({ database, team }) => {
      const sent = await replay({ database, ...outgoing(invocation) }, team.id, id, invocation.actor);
      invocation.output.done({
        data: sent,
        said: `Sent it again: ${resultOf(sent)}.`,
        brief: sent.id,
        next: `parley deliveries show ${sent.id}`,
      });
      if (!sent.succeeded) process.exitCode = 1;
    });
  });
}

async function filterOf({ database, team }: InTeam, options: ListOptions) {
  const { webhook, failed, limit } = options;
  const subscription =
    webhook === undefined ? undefined : await getSubscription(database.read, team.id, webhook);
  return { subscriptionId: subscription?.id, onlyFailed: failed, limit };
}

/** Shows what is logged after the place that `filter` names, as it comes, until the process is told to stop. */
async function follow(
  { output }: Invocation,
  { database, team }: InTeam,
  filter: Awaited<ReturnType<typeof filterOf>> & { after: number },
): Promise<void> {
  let isOver = false;
  void stopSignal().then(() => (isOver = true));
  let { after } = filter;
  for (let seen = 0; !isOver; seen = await changed(database, seen, () => isOver)) {
    const attempts = await listAttempts(database.read, team.id, { ...filter, after, limit: attemptsMax });
    after = attempts[0]?.place ?? after;
    for (const attempt of attempts.toReversed()) output.line(columns.map(({ of }) => of(attempt)).join("  "));
  }
}

/** Resolves to the database's version once that is another one than `seen`, or once it is over. */
async function changed(database: Database, seen: number, isOver: () => boolean): Promise<number> {
  while (!isOver()) {
    const version = database.dataVersion();
    if (version !== seen) return version;
    await Bun.sleep(followEveryMs);
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
  if (output.isJson) return output.json(attempts.map(({ place: _, ...attempt }) => attempt));
  const none = failed ? "No attempt failed." : "Nothing was delivered yet.";
  output.list(attempts, columns, { none, next: "parley deliveries show ID" });
}

function resultOf(attempt: {
  succeeded: boolean;
  response_status: number | null;
  error: string | null;
  replay: boolean;
}) {
  const result = attempt.succeeded ? `ok, ${attempt.response_status}` : (attempt.error ?? "failed");
  return attempt.replay ? `${result} (replay)` : result;
}
