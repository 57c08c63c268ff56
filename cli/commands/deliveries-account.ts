import type { Command } from "commander";
import { account, type Hole } from "../../src/deliveries/account.ts";
import { workspaceTime } from "../../src/system/workspace-clock.ts";
import { addCommand } from "../invocation/command.ts";
import { parseMoment } from "../invocation/durations.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { FailedRequest } from "../terminal/failed-request.ts";
import { counted } from "../terminal/quantity.ts";

const dayMs = 86_400_000;

/** How many holes are named; the JSON has a thousand. */
const holesNamed = 10;

/** `since` in milliseconds since 1970. */
type AccountOptions = { since?: number };

/** Adds `parley deliveries account`. */
export function addDeliveriesAccount(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "account", {
    summary: "Check that every event has an outcome or a due attempt for each subscription",
    examples: ["parley deliveries account", "parley deliveries account --since 7d --json"],
  }).option(
    "--since <time>",
    "account for events from then on: 12h, 7d or 2026-05-04T10:30 (default: 24h)",
    parseMoment,
  );
  invocation.teamAction(command, async ({ database, team }, options: AccountOptions) => {
    const config = invocation.config();
    const now = workspaceTime();
    const parts = {
      since: options.since ?? now - dayMs,
      now,
      maxAttempts: config.webhooksMaxAttempts,
      retentionDays: config.webhooksRetentionDays,
    };
    using progress = invocation.output.progress();
    const found = await account(database, team.id, parts, (events) =>
      progress.show(`Accounting: ${counted(events, "event")}`),
    );
    progress.clear();
    if (found.missing > 0) {
      const others = found.missing - Math.min(found.missing, holesNamed);
      throw new FailedRequest(
        [
          `${counted(found.missing, "delivery", "deliveries")} without an outcome or a due attempt:`,
          ...found.holes.slice(0, holesNamed).map(holeLine),
          ...(others > 0 ? [`and ${counted(others, "other")}: see --json`] : []),
        ].join("\n"),
        found,
      );
    }
    invocation.output.details(found, [
      ["events", `${found.events.toLocaleString("en")} since ${found.since}`],
      ...(["delivered", "given_up", "waiting", "queueing", "discarded", "withheld"] as const)
        .filter((key) => found[key] > 0 || key === "delivered")
        .map((key) => [key.replace("_", " "), found[key].toLocaleString("en")] as const),
      ["missing", "none"],
    ]);
  });
}

function holeLine({ event_id, event_type, webhook, attempts }: Hole): string {
  const made = attempts === 0 ? "no attempt" : `only ${counted(attempts, "failed attempt")}`;
  return `${event_type} ${event_id} for ${webhook.name}: ${made}`;
}
