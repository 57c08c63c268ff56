import type { Command } from "commander";
import type { Database } from "../../src/database/database.ts";
import {
  type Decided,
  discard,
  type HeldEvent,
  type HeldSubscription,
  listHeld,
  listHeldEvents,
  release,
} from "../../src/deliveries/held.ts";
import { holdOf } from "../../src/deliveries/hold.ts";
import { DomainError } from "../../src/errors.ts";
import { getSubscriptionNamed } from "../../src/subscriptions/subscriptions.ts";
import { getTeamNamed, listTeams } from "../../src/teams/teams.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { wholeNumber } from "../invocation/whole-number.ts";
import { counted } from "../terminal/quantity.ts";
import { relativeTime } from "../terminal/relative-time.ts";
import type { Column } from "../terminal/table.ts";

type WebhookOption = { webhook?: string };

/** The subscription that a command is about; undefined for all of the workspace. */
type Chosen = { id: string; name: string; teamId: string } | undefined;

const eventsMax = 100_000;

/** The verbs of `parley deliveries` about a database that was set back or copied: held, release, discard. */
export function addHeldDeliveries(noun: Command, invocation: Invocation): void {
  addHeld(noun, invocation);
  addDecision(noun, invocation, {
    verb: "release",
    summary: "Send what waits after the database was set back or copied",
    decide: release,
    said: ({ events }) =>
      events === 0
        ? "Released. Nothing had waited since before the hold."
        : `Released: ${counted(events, "event")} will be sent in order.`,
  });
  addDecision(noun, invocation, {
    verb: "discard",
    summary: "Drop what would be sent again and go on with what came later",
    question: (what) => `Drop ${what}?`,
    decide: discard,
    said: ({ events }) => `Dropped ${counted(events, "event")}. Later ones are sent.`,
  });
}

function addHeld(noun: Command, invocation: Invocation): void {
  addCommand(noun, "held", {
    summary: "List what would be sent again after the database was set back or copied",
    examples: ["parley deliveries held", "parley deliveries held --webhook CI"],
  })
    .option("--webhook <webhook>", "list the events of one subscription")
    .option("--limit <count>", "maximum number of events", wholeNumber(1, eventsMax), 100)
    .action(async ({ webhook, limit }: WebhookOption & { limit: number }) => {
      await withChosen(invocation, webhook, async (database, chosen) => {
        const held = await listHeld(database);
        const { output } = invocation;
        if (held) {
          output.note(held.hold.reason);
          output.note(
            `Nothing has been sent since the server started on it ${relativeTime(held.hold.since)}.`,
          );
        }
        if (chosen) {
          const events = held ? await database.ask((db) => listHeldEvents(db, chosen.id, limit)) : [];
          if (output.isJson) output.json(events);
          else showEvents(invocation, events, chosen.name);
          return;
        }
        const webhooks = await ofTeam(invocation, database, held?.webhooks ?? []);
        if (output.isJson) output.json({ hold: held?.hold ?? null, webhooks });
        else showWebhooks(invocation, webhooks, held !== undefined);
      });
    });
}

function showWebhooks({ output }: Invocation, webhooks: readonly HeldSubscription[], isHeld: boolean): void {
  const hasTeams = new Set(webhooks.map(({ team }) => team)).size > 1;
  const team: Column<HeldSubscription> = { title: "TEAM", of: (row) => row.team, canShrink: true };
  const columns: Array<Column<HeldSubscription>> = [
    { title: "NAME", of: ({ name }) => name, canShrink: true },
    ...(hasTeams ? [team] : []),
    { title: "STATUS", of: ({ status }) => status },
    { title: "EVENTS", of: ({ events }) => events.toLocaleString("en") },
    { title: "OLDEST", of: ({ oldest }) => relativeTime(oldest) },
    { title: "NEWEST", of: ({ newest }) => relativeTime(newest) },
  ];
  const none = isHeld ? "Nothing waits from before the hold." : "Deliveries are not held.";
  const next =
    webhooks.length > 0
      ? "parley deliveries held --webhook NAME for its events, then parley deliveries release or discard"
      : "parley deliveries release";
  output.list(webhooks, columns, { none, ...(isHeld && { next }) });
}

const eventColumns: ReadonlyArray<Column<HeldEvent>> = [
  { title: "WHEN", of: ({ created_at }) => relativeTime(created_at) },
  { title: "EVENT", of: ({ event_type }) => event_type, canShrink: true },
  { title: "ATTEMPTS", of: ({ attempts }) => String(attempts) },
  { title: "EVENT ID", of: ({ event_id }) => event_id },
];

function showEvents({ output }: Invocation, events: readonly HeldEvent[], name: string): void {
  const next = `parley deliveries release --webhook ${name}, or discard to drop these`;
  output.list(events, eventColumns, {
    none: `Nothing is held for ${name}.`,
    ...(events.length > 0 && { next }),
  });
}

type Decision = {
  verb: "release" | "discard";
  summary: string;
  /** Asked before anything is lost. */
  question?: (what: string) => string;
  decide: typeof release;
  said: (decided: Decided) => string;
};

function addDecision(noun: Command, invocation: Invocation, decision: Decision): void {
  const { verb, summary, question, decide, said } = decision;
  addCommand(noun, verb, {
    summary,
    examples: [`parley deliveries ${verb}`, `parley deliveries ${verb} --webhook CI`],
  })
    .option("--webhook <webhook>", "only those of one subscription; the others stay held")
    .action(async ({ webhook }: WebhookOption) => {
      await withChosen(invocation, webhook, async (database, chosen) => {
        if (!chosen) await requireWholeWorkspace(invocation, database);
        if (question) await invocation.prompts.confirm(question(await whatIsHeld(database, chosen)));
        using progress = invocation.output.progress();
        const decided = await decide(database, chosen, invocation.actor, (done, total) =>
          progress.showPart(verb === "release" ? "Releasing" : "Dropping", done, total, String),
        );
        progress.clear();
        invocation.tellServer(database);
        const rest = decided.is_over ? [] : ["Other subscriptions stay held."];
        invocation.output.done({
          data: { ...decided, hold: (await database.ask(holdOf)) ?? null },
          said: [said(decided), ...rest],
          brief: String(decided.events),
          next: decided.is_over ? "parley deliveries list --follow" : "parley deliveries held",
        });
      });
    });
}

/** "12 events for 3 subscriptions" */
async function whatIsHeld(database: Database, chosen: Chosen): Promise<string> {
  const held = await listHeld(database);
  const rows = (held?.webhooks ?? []).filter((row) => !chosen || row.webhook_id === chosen.id);
  const events = rows.reduce((sum, row) => sum + row.events, 0);
  return `${counted(events, "event")} for ${chosen ? chosen.name : counted(rows.length, "subscription")}`;
}

/** Runs `work` with the subscription of that name or id, for which a team is needed, or without one. */
async function withChosen(
  invocation: Invocation,
  webhook: string | undefined,
  work: (database: Database, chosen: Chosen) => Promise<void>,
): Promise<void> {
  if (webhook === undefined) return await invocation.inWorkspace((database) => work(database, undefined));
  await invocation.inTeam(async ({ database, team }) => {
    const { id, name } = await database.ask((db) => getSubscriptionNamed(db, team.id, webhook));
    await work(database, { id, name, teamId: team.id });
  });
}

/** Those of the team that `--team` names, or all. */
async function ofTeam(
  { options }: Invocation,
  database: Database,
  webhooks: readonly HeldSubscription[],
): Promise<readonly HeldSubscription[]> {
  if (options.team === undefined) return webhooks;
  const { slug } = await database.ask((db) => getTeamNamed(db, options.team));
  return webhooks.filter(({ team }) => team === slug);
}

/** Rejects `--team` for a decision about the whole workspace, unless that is its only team. */
async function requireWholeWorkspace({ options }: Invocation, database: Database): Promise<void> {
  if (options.team === undefined) return;
  const { length } = await database.ask(async (db) => {
    await getTeamNamed(db, options.team);
    return await listTeams(db);
  });
  if (length === 1) return;
  throw new DomainError(
    "usage",
    "The whole workspace is held, not a team of it. Leave --team out, or name a subscription with --webhook.",
  );
}
