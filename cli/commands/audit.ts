import type { Command } from "commander";
import { type AuditEntry, listAuditEntries } from "../../src/audit/audit.ts";
import { isUuid } from "../../src/input/text.ts";
import { addCommand } from "../invocation/command.ts";
import { parseDuration } from "../invocation/durations.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { relativeTime } from "../terminal/relative-time.ts";
import { wholeNumber } from "../invocation/whole-number.ts";

/** `since` in milliseconds. */
type ListOptions = { action?: string; since?: number; limit: number };

const entriesMax = 10_000;

/** `parley audit`: who changed what and when. */
export function addAudit(program: Command, invocation: Invocation): void {
  const noun = addCommand(program, "audit", {
    summary: "Show who changed what and when",
    examples: ["parley audit list"],
  });

  const command = addCommand(noun, "list", {
    summary: "List changes, newest first",
    examples: ["parley audit list --since 7d --action token.revoked"],
  })
    .option("--action <action>", "filter by action: token.created, user.deactivated, …")
    .option("--since <span>", "filter by age: 24h, 7d, 4w, …", parseDuration)
    .option("--limit <count>", "maximum number of entries", wholeNumber(1, entriesMax), 50);
  invocation.teamAction(command, async ({ database, team }, options: ListOptions) => {
    const { action, limit } = options;
    const since = options.since === undefined ? undefined : Date.now() - options.since;
    invocation.output.list(
      await database.ask((db) => listAuditEntries(db, team.id, { action, since, limit })),
      [
        { title: "WHEN", of: ({ at }) => relativeTime(at) },
        { title: "WHO", of: ({ actor }) => actor, canShrink: true },
        { title: "ACTION", of: (entry) => entry.action },
        { title: "WHAT", of: summary, canShrink: true },
      ],
      { none: "No matching entries.", next: "parley audit list --json, for complete entries" },
    );
  });
}

/** The details of an entry without its ids; its target if nothing is left. */
function summary({ target, details }: AuditEntry): string {
  const words = Object.entries(details)
    .filter(([, value]) => !(typeof value === "string" && isUuid(value)))
    .map(([key, value]) => `${key} ${wording(value)}`);
  return words.length === 0 ? target : words.join(", ");
}

function wording(value: unknown): string {
  if (Array.isArray(value)) return value.join(" ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
