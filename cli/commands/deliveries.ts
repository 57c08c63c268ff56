import type { Command } from "commander";
import { showAttempt } from "../../src/deliveries/attempt-log.ts";
import { findAttemptId, listAttempts } from "../../src/deliveries/attempt-search.ts";
import { replay } from "../../src/deliveries/replay.ts";
import { DomainError } from "../../src/errors.ts";
import { addCommand } from "../invocation/command.ts";
import { parseMoment } from "../invocation/durations.ts";
import type { InTeam, Invocation } from "../invocation/invocation.ts";
import { outgoing } from "../invocation/outgoing.ts";
import { resultOf } from "../terminal/attempt-view.ts";
import { FailedRequest } from "../terminal/failed-request.ts";
import { relativeTime } from "../terminal/relative-time.ts";
import { addDeliveriesAccount } from "./deliveries-account.ts";
import { addDeliveriesExplain } from "./deliveries-explain.ts";
import { addDeliveriesList } from "./deliveries-list.ts";
import { addHeldDeliveries } from "./held-deliveries.ts";
import { replayAllFailed, type ReplayFailedOptions } from "./replay-failed.ts";

const attemptsToChooseFrom = 50;

/** `parley deliveries`: the log of attempts. */
export function addDeliveries(program: Command, invocation: Invocation): void {
  const noun = addCommand(program, "deliveries", {
    summary: "List, explain and replay deliveries; decide about held ones",
    examples: ["parley deliveries list"],
  });
  addDeliveriesList(noun, invocation);
  addShow(noun, invocation);
  addDeliveriesExplain(noun, invocation);
  addDeliveriesAccount(noun, invocation);
  addReplay(noun, invocation);
  addHeldDeliveries(noun, invocation);
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
    summary: "Send an attempt's request again now, or queue all that a subscription did not get",
    examples: [
      "parley deliveries replay 0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f",
      "parley deliveries replay --webhook CI --failed --since 12h --dry-run",
    ],
  })
    .option("--failed", "queue each event again whose last attempt failed")
    .option("--webhook <webhook>", "with --failed: of this subscription")
    .option(
      "--since <time>",
      "with --failed: attempts from then on: 12h, 7d or 2026-05-04T10:30",
      parseMoment,
    )
    .option("--until <time>", "with --failed: attempts up to then (default: now)", parseMoment)
    .option("--dry-run", "with --failed: only say how many there are");
  invocation.teamAction(command, async (at, given: string | undefined, options: ReplayFailedOptions) => {
    if (options.failed) {
      if (given !== undefined) throw new DomainError("usage", "Name an attempt or --failed, not both.");
      return await replayAllFailed(invocation, at, options);
    }
    if (Object.keys(options).length > 0)
      throw new DomainError("usage", "--webhook, --since, --until and --dry-run go with --failed.");
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

/** The id of the attempt that was given, or else chosen at a prompt from the latest ones. */
async function attemptId(
  { prompts }: Invocation,
  { database, team }: InTeam,
  given: string | undefined,
): Promise<string> {
  const reference = await prompts.choice(given, {
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
  return await database.ask((db) => findAttemptId(db, team.id, reference));
}
