import type { Figures } from "../benchmark.ts";
import { median, type Result } from "../rounds.ts";
import type { About } from "./pocketbase.ts";
import { sectionHeading } from "./results-file.ts";

const figures = [
  { key: "perSecond", head: "per second", digits: 0 },
  { key: "p99Ms", head: "p99 (ms)", digits: 2 },
] as const;

/** The section on PocketBase: versions and settings, one table, and the limits of the comparison. */
export function peersReport(machine: string, about: About, results: Result[]): string {
  const names = results[0]?.sides.map(({ name }) => name) ?? [];
  const rows = results.flatMap(({ benchmark, sides }) =>
    figures.map(({ key, head, digits }) => [
      `${benchmark.title}: ${head}`,
      ...sides.map(({ runs }) => spread(runs, key, digits)),
    ]),
  );
  return [
    sectionHeading,
    introduction,
    `${machine}\n${settingsOf(about)}`,
    [["", ...names], ["---", ...names.map(() => "---")], ...rows]
      .map((cells) => `| ${cells.join(" | ")} |`)
      .join("\n"),
    [...new Set(results.map(({ benchmark }) => benchmark.method))].map((method) => `- ${method}`).join("\n"),
    limits,
  ].join("\n\n");
}

const introduction = `\
[PocketBase](https://pocketbase.io) is a backend in one binary with embedded SQLite, as Parley is. Its collections can
model a channel's messages, so both can take the same load. The servers take turns, one load at a time, and share the
machine with the load generator; each figure is the median of the rounds, with the lowest and the highest.
\`bun run bench --peers\` measures it again.`;

function settingsOf({ version, go, sqlite, isLimited, logDays }: About): string {
  return `\
- PocketBase ${version}, ${go}, SQLite ${sqlite} (modernc.org/sqlite, no cgo)
- PocketBase, as it ships: \`synchronous=NORMAL\`, rate limiter ${isLimited ? "on" : "off"}, each request logged to
  a second database and kept for ${logDays} days. At \`synchronous=FULL\`, only this pragma differs, and only for the
  database that holds the messages.
- Parley, as it ships: \`synchronous=FULL\`, each request logged to a file. Its rate limits are set out of reach.`;
}

/** The median of the rounds; with several, the lowest and the highest too. */
function spread(runs: Figures[], key: keyof Figures, digits: number): string {
  const values = runs.map((run) => run[key] ?? Number.NaN);
  const [middle, lowest, highest] = [median(values), Math.min(...values), Math.max(...values)].map((value) =>
    value.toFixed(digits),
  );
  return values.length === 1 ? `${middle}` : `${middle} (${lowest}–${highest})`;
}

const limits = `\
What the figures do not show:

- **Durability.** Parley responds to a post after its commit is flushed to disk; posts that arrive together share one
  commit. At \`NORMAL\`, PocketBase responds before the flush: a power failure may lose the last posts, though it does
  not damage the database. At \`FULL\` it flushes each post by itself.
- **Permissions.** Parley checks the token's scope, the channel's state and the author's membership. PocketBase has no
  channels: here the channel is a text, and the rule lets every signed-in user read and write all of them.
- **Webhooks.** Parley looks for subscriptions to each new message and queues an event in the same commit if there are
  any (here there are none). PocketBase has no outgoing webhooks; it looks for realtime clients, and there are none.
- **Generality.** PocketBase's collections are defined at run time, and its rules and filters are a language that it
  parses. It reads the token's user from the database with each request. Parley's tables are part of the program, and
  it caches tokens and members.
- **The page.** Parley's has the total and, on every third message, reactions. PocketBase's has neither (\`skipTotal\`),
  but each author's whole record.
- **Processors.** PocketBase uses all of them. Parley runs its requests on one thread.
- **Everything else.** PocketBase has an admin dashboard, file storage, OAuth2 and hooks; Parley has a delivery queue
  with retries, SCIM and an audit log.`;
