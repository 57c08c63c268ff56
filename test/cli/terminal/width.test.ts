import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Command } from "commander";
import { parleyProgram } from "../../../cli/program.ts";
import type { Outcome } from "../../../src/deliveries/attempt.ts";
import { settle } from "../../../src/deliveries/settle.ts";
import { addEmoji } from "../../../src/emoji/emoji.ts";
import { webhookEvents } from "../../../src/event-types.ts";
import { createIncomingWebhook } from "../../../src/incoming-webhooks/incoming-webhooks.ts";
import { selectJob, selectNextJobs } from "../../../src/outbox/job-store.ts";
import { findKey } from "../../../src/secrets/key-file.ts";
import { Vault } from "../../../src/secrets/vault.ts";
import { disableSubscription } from "../../../src/subscriptions/status.ts";
import { createSubscription } from "../../../src/subscriptions/subscriptions.ts";
import { engine } from "../../support/engine.ts";
import { onTerminal, keys, run, startServing } from "../../support/cli.ts";
import { until } from "../../support/conditions.ts";
import { type TemporaryFolder, temporaryFolder } from "../../support/temporary-folder.ts";
import { actor, openWorkspace, type Workspace } from "../../support/workspace.ts";

/** Every command, as a person with a terminal of 80 columns sees it, and as a script without one. */

const columns = 80;
/** A test waits this long at most; the machine may be busy. */
const patience = { timeout_ms: 120_000 };
const testMs = 180_000;

/** Any free port, and receivers on this machine. */
const environment = { PARLEY_PORT: "0", WEBHOOKS_BLOCK_PRIVATE_URLS: "false", WEBHOOKS_TIMEOUT: "1" };

/** Commands that run until they are stopped, and what they show once they run. */
const endless: Record<string, string> = {
  serve: "Ctrl-C",
  quickstart: "Ctrl-C",
  listen: "Ctrl-C",
};
const argumentsOfEndless: Record<string, string[]> = { listen: ["--port", "0"] };

/** Commands that print a document for programs, or the text of others: its lines are as they are. */
const documents = new Set([
  "openapi",
  "licenses",
  "completion bash",
  "completion zsh",
  "completion fish",
  "completion",
]);

/** Reports on something that has to be named. */
const reports: string[][] = [
  ["channels", "show", "incidents-and-their-follow-ups"],
  ["channels", "members", "general"],
  ["webhooks", "show", "Continuous integration of the platform team"],
  ["deliveries", "show", "ATTEMPT"],
  ["deliveries", "list", "--failed"],
  ["audit", "list", "--limit", "200"],
  ["doctor", "--full"],
];

function leavesUnder(command: Command, path: string[] = []): string[][] {
  if (command.commands.length === 0) return [path];
  return command.commands.flatMap((child) => leavesUnder(child, [...path, child.name()]));
}

const leaves = leavesUnder(parleyProgram({}));
const ending = leaves
  .filter((path) => !(path.join(" ") in endless))
  .map((path) => [path.join(" "), path] as const);

let folder: TemporaryFolder;
let workspace: Workspace;
let attemptId = "";

beforeAll(async () => {
  folder = temporaryFolder();
  workspace = await openWorkspace(folder.path);
  await fill(workspace);
}, testMs);
afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** Names, addresses and histories as long as people make them. */
async function fill({ database }: Workspace): Promise<void> {
  const acme = await workspace.team("Acme Industrial Automation and Robotics");
  const ada = await workspace.person(acme.id, "Ada Augusta King, Countess of Lovelace", "admin");
  const channel = await workspace.channel(ada, "Incidents and their follow-ups");
  await workspace.channel(ada, "日本語のチャンネル", "private");
  const bot = await workspace.bot(acme.id, "Deployment and release announcements", [acme.general, channel]);
  await workspace.direct(ada, acme.owner);
  await workspace.token(bot);
  await workspace.token(ada, "messages:read");
  const vault = new Vault(findKey(folder.path, ""));
  await database.write(async (tx) => {
    await createIncomingWebhook(
      tx,
      vault,
      { bot, channel },
      { name: "Alertmanager of the cluster in Frankfurt", signed: true },
      actor,
    );
    await addEmoji(tx, acme.id, { name: "ship-it-with-confidence-today" }, actor);
  });
  const names = [
    "Continuous integration of the platform team",
    "Archive",
    "Old reporting pipeline, to be removed",
  ];
  const subscriptions: string[] = [];
  for (const [index, name] of names.entries()) {
    const url = `http://127.0.0.1:9/services/T024BE7LD/B04K4Q${index}/incoming-events-of-the-workspace?format=json`;
    const { data } = await createSubscription(
      { database, guard: { blockPrivate: false }, vault, log: { warn: () => {} }, maxSubscriptions: 10 },
      acme.id,
      { name, url, events: [...webhookEvents] },
      index === 0 ? `user:${ada.id}` : actor,
    );
    subscriptions.push(data.id);
  }
  for (let post = 0; post < 3; post++) {
    await workspace.message(channel, ada, "The release is out, and the dashboards look as they should.");
  }
  const [first = "", second = "", third = ""] = subscriptions;
  await attempt(first, failed);
  await attempt(first, { ...failed, status: null, error: "the certificate of the receiver is not trusted" });
  await attempt(second, { ...failed, kind: "succeeded", status: 204, error: null });
  await database.write((tx) => disableSubscription(tx, acme.id, third, actor));
}

const failed: Outcome = {
  kind: "rejected",
  status: 500,
  error: "the receiver answered 500",
  detail: null,
  responseStart: Buffer.from('{"error":"something went wrong over here, and nobody knows what it was"}'),
  retryAfter: null,
  durationMs: 1_234,
};

/** A workspace of its own for a server, of which there can be one for a folder. */
async function ownWorkspace(): Promise<TemporaryFolder> {
  const own = temporaryFolder();
  await using made = await openWorkspace(own.path);
  await made.team("Acme");
  return own;
}

/** Settles the subscription's next job like this. */
async function attempt(subscriptionId: string, outcome: Outcome): Promise<void> {
  const { database } = workspace;
  const [next] = await database.ask((db) => selectNextJobs(db, subscriptionId, 1));
  const job = next && (await database.ask((db) => selectJob(db, { subscriptionId, ...next })));
  if (!job) throw new Error("nothing is queued");
  const rules = { maxAttempts: 5, backoffBaseMs: 10_000, disableAfter: 100 };
  const settled = await database.write(async (tx) => await settle(tx, job, outcome, rules));
  attemptId ||= settled.attemptId;
}

/**
 * The lines that are wider than the terminal. Commands to copy, one-line errors and secrets are not broken by us: the
 * terminal wraps them, so that they are copied whole.
 */
function wideLines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.split("\r").at(-1) ?? "")
    .filter((line) => Bun.stringWidth(line) > columns)
    .filter((line) => !/^(?:Next|error): |ply_|whsec_/.test(line));
}

/** Runs the command on a terminal, and cancels it at the first question. */
async function seenBy(args: readonly string[]): Promise<{ status: number; text: string; raw: string }> {
  await using screen = onTerminal(folder.path, args, environment);
  let status: number | undefined;
  void screen.ended().then((ended) => (status = ended));
  await until(
    `parley ${args.join(" ")} ends or asks`,
    () => status !== undefined || screen.text.includes("◆"),
    patience,
  );
  if (status === undefined) screen.type(keys.interrupt);
  return { status: await screen.ended(), text: screen.text, raw: screen.raw };
}

describe("on a terminal of 80 columns", () => {
  test.concurrent.each(ending)(
    "parley %s shows no line that is wider",
    async (name, path) => {
      const { status, text } = await seenBy(path);
      expect([0, 1, 2, 3], text).toContain(status);
      expect(text).not.toContain("Something went wrong");
      if (!documents.has(name)) expect(wideLines(text)).toEqual([]);
    },
    testMs,
  );

  test.concurrent.each(reports.map((args) => [args.join(" "), args] as const))(
    "parley %s shows no line that is wider",
    async (_, args) => {
      const { status, text } = await seenBy(args.map((arg) => (arg === "ATTEMPT" ? attemptId : arg)));
      // The PostgreSQL of the tests does without fsync, which doctor reports.
      expect(status, text).toBe(engine === "postgres" && args[0] === "doctor" ? 1 : 0);
      expect(wideLines(text)).toEqual([]);
    },
    testMs,
  );

  test.concurrent.each(Object.entries(endless))(
    "parley %s runs until Ctrl-C",
    async (name, shown) => {
      using own = await ownWorkspace();
      await using screen = onTerminal(own.path, [name, ...(argumentsOfEndless[name] ?? [])], environment);
      await until(
        `parley ${name} runs or ends`,
        () => screen.text.includes(shown) || screen.text.includes("error: "),
        patience,
      );
      screen.type(keys.interrupt);
      expect(await screen.ended(), screen.text).toBe(0);
    },
    testMs,
  );

  test(
    "lists have bold titles, which --no-color and NO_COLOR leave out",
    async () => {
      expect((await seenBy(["webhooks", "list"])).raw).toContain("\u001b[1m");
      expect((await seenBy(["webhooks", "list", "--no-color"])).raw).not.toContain("\u001b");
    },
    testMs,
  );
});

describe("without a terminal", () => {
  test.concurrent.each(ending)(
    "parley %s prints no escape sequence, asks nothing and ends with a known status",
    async (_, path) => {
      const { status, stdout, stderr } = await run(folder.path, path, environment);
      expect([0, 1, 2, 3], stderr).toContain(status);
      expect(stdout + stderr).not.toContain("\u001b");
      expect(stdout + stderr).not.toContain("\r");
      expect(stderr).not.toContain("Something went wrong");
      if (status === 2 || status === 3) expect(stdout).toBe("");
      if (status !== 0) expect(stderr).toMatch(/^error: /m);
    },
    testMs,
  );

  test(
    "parley serve prints no escape sequence",
    async () => {
      using own = await ownWorkspace();
      await using serving = startServing(own.path, ["serve", "--json"], environment);
      expect(await serving.firstLine()).not.toContain("\u001b");
      const { status, rest } = await serving.stop();
      expect(status).toBe(0);
      expect(rest).not.toContain("\u001b");
    },
    testMs,
  );
});
