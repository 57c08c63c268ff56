import { DomainError } from "../../src/errors.ts";
import { lastFailures, replayFailed } from "../../src/deliveries/replay-failed.ts";
import { getSubscriptionNamed } from "../../src/subscriptions/subscriptions.ts";
import { workspaceTime } from "../../src/system/workspace-clock.ts";
import { timestamp } from "../../src/timestamp.ts";
import type { InTeam, Invocation } from "../invocation/invocation.ts";
import { stoppingSignal } from "../invocation/stopping.ts";
import { counted } from "../terminal/quantity.ts";

/** Times in milliseconds since 1970. */
export type ReplayFailedOptions = {
  failed?: true;
  webhook?: string;
  since?: number;
  until?: number;
  dryRun?: boolean;
};

/** `parley deliveries replay --failed`: queues what a subscription did not get in a period once more. */
export async function replayAllFailed(
  { output, prompts, actor }: Invocation,
  { database, team }: InTeam,
  { webhook, since, until = workspaceTime(), dryRun = false }: ReplayFailedOptions,
): Promise<void> {
  if (webhook === undefined || since === undefined)
    throw new DomainError("usage", "--failed needs --webhook WEBHOOK and --since TIME.");
  const { id, name, status } = await database.ask((db) => getSubscriptionNamed(db, team.id, webhook));
  const period = { since, until };
  using progress = output.progress();
  let events = 0;
  for await (const page of lastFailures(database, id, period)) {
    events += page.length;
    progress.show(`Looking: ${counted(events, "event")} failed`);
  }
  progress.clear();
  const data = {
    webhook: { id, name },
    events,
    since: timestamp(since),
    until: timestamp(until),
    dry_run: dryRun,
  };
  if (events === 0 || dryRun) {
    output.done({
      data,
      said:
        events === 0
          ? `Nothing of ${name} is left to replay: no event whose last attempt then failed.`
          : `${counted(events, "event")} of ${name} would be sent again. Nothing was queued.`,
      brief: String(events),
      next: `parley deliveries list --webhook ${id} --failed`,
    });
    return;
  }
  await prompts.confirm(`Send ${counted(events, "event")} to ${name} again?`);
  const stopping = stoppingSignal("It was interrupted.");
  const all = events.toLocaleString("en");
  let queued = 0;
  for await (queued of replayFailed(database, team.id, id, period, actor)) {
    progress.show(`Queueing: ${counted(queued, "event")} of ${all}`);
    if (stopping.aborted) break;
  }
  progress.clear();
  if (stopping.aborted && queued < events)
    throw new DomainError(
      "conflict",
      `Interrupted when ${counted(queued, "event")} of ${all} were queued again. ` +
        "Run the command again for the rest: no event is queued twice.",
    );
  output.done({
    data: { ...data, events: queued },
    said:
      `${counted(queued, "event")} of ${name} ${queued === 1 ? "is" : "are"} queued again, oldest first` +
      (status === "disabled" ? ". They are sent once it is enabled." : "."),
    brief: String(queued),
    next:
      status === "disabled"
        ? `parley webhooks enable ${id}`
        : `parley deliveries list --webhook ${id} --follow`,
  });
}
