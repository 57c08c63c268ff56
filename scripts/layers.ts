import { dirname, join, normalize } from "node:path";

/**
 * The layers of the source, lowest first, each a folder or a single file; ARCHITECTURE.md draws them. A file may
 * import, types included, only from its own layer and from lower ones, which come earlier in this list.
 * `bun scripts/layers.ts [root]` prints each import that runs upwards and exits with 1 if there is any.
 */
const layers = [
  // Words that all others use.
  "src/version.ts",
  "src/errors.ts",
  "src/timestamp.ts",
  "src/event-types.ts",
  "src/subject.ts",
  // Plumbing.
  "src/input",
  "src/settings.ts",
  "src/config.ts",
  "src/unknown-settings.ts",
  "src/system",
  "src/log",
  "src/tracing",
  "src/database",
  "src/database/postgres",
  "src/nodes",
  "src/secrets",
  // The domain.
  "src/audit",
  "src/users",
  "src/tokens",
  "src/channels",
  "src/emoji",
  "src/outbox",
  "src/messages",
  "src/members",
  "src/reactions",
  "src/outbound",
  "src/subscriptions",
  "src/incoming-webhooks",
  "src/incoming-webhooks/senders",
  "src/deliveries",
  "src/feed",
  "src/health",
  "src/metrics",
  "src/accounts",
  "src/teams",
  "src/backup",
  "src/alerts",
  // HTTP, which calls the domain.
  "src/http",
  "src/api",
  "src/openapi",
  "src/scim/protocol",
  "src/scim/users",
  "src/scim/groups",
  "src/scim",
  "src/all-routes.ts",
  // Assembly.
  "src/unreadable-secrets.ts",
  "src/key-rotation",
  "src/leaked-secrets.ts",
  "src/quickstart.ts",
  "src/data-folder.ts",
  "src/move",
  "src/workspace.ts",
  "src/trial",
  "src/status",
  "src/doctor",
  "src/app.ts",
  // The command line, which calls the domain and starts the server.
  "cli/terminal",
  "cli/invocation",
  "cli/commands",
  "cli",
];

const root = process.argv[2] ?? join(import.meta.dir, "..");
const faults: string[] = [];
for (const file of new Bun.Glob("{src,cli}/**/*.ts").scanSync({ cwd: root })) {
  const text = await Bun.file(join(root, file)).text();
  for (const [, specifier = ""] of text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]*\.ts)"/g)) {
    const imported = normalize(join(dirname(file), specifier));
    if (!/^(src|cli)\//.test(imported)) continue;
    if (layerOf(imported) > layerOf(file))
      faults.push(`${file} imports ${imported}, which is of a higher layer.`);
  }
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;

/** The index of the file's layer in the list. */
function layerOf(file: string): number {
  const place = layers.includes(file) ? layers.indexOf(file) : layers.indexOf(dirname(file));
  if (place < 0) throw new Error(`${file} is in no layer: name its folder in scripts/layers.ts.`);
  return place;
}
