import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { runJson } from "../support/cli.ts";
import { apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { type NodesStage, startNodes } from "../support/nodes.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { type Receiver, startReceiver } from "../support/receivers/receiver.ts";
import { startServer, type TestServer } from "../support/server.ts";

/** Each test starts a PostgreSQL and several servers, on a machine that may be busy. */
setDefaultTimeout(120_000);

test("neither a node with an empty folder nor a restart of the database holds deliveries", async () => {
  await using receiver = startReceiver();
  await using started = await startOriginal(receiver);
  const { stage, postgres, node } = started;
  await started.deliver("before");
  expect(reasonsOf(await stage.add())).toEqual([]);
  for (const each of stage.nodes) await each.stop();
  await postgres.stop();
  await postgres.start();
  await node.start();
  expect(reasonsOf(node)).toEqual([]);
});

test("a copy of the database holds deliveries until an operator decides, for all its nodes", async () => {
  await using receiver = startReceiver();
  await using started = await startOriginal(receiver);
  const { stage, postgres } = started;
  await started.deliver("before");
  await started.node.stop();
  const url = await postgres.createDatabase("copy", "original");
  const environment = { PARLEY_DATABASE_URL: url, WEBHOOKS_BLOCK_PRIVATE_URLS: "false" };
  const dataDir = stage.dataDir();
  await using copy = await startServer({ dataDir, environment });
  await using second = await startServer({ dataDir: stage.dataDir(), environment });
  const reason = expect.stringContaining("This is a copy from elsewhere: it was used in another database.");
  expect([...reasonsOf(copy), ...reasonsOf(second)]).toEqual([reason, reason]);

  await post(stage, copy, "after");
  expect(await queuedIn(postgres, "copy")).toBe(1);
  await runJson(dataDir, ["deliveries", "release", "--yes"], environment);
  await until("it is delivered", async () => (await queuedIn(postgres, "copy")) === 0);
  expect(bodiesOf(receiver)).toEqual(["before", "after"]);
  for (const node of [copy, second]) await node.stop();
  for (const node of [second, copy]) {
    await node.start();
    expect(reasonsOf(node).length).toBe(1);
  }
});

test("a database that was set back under its name holds deliveries", async () => {
  await using receiver = startReceiver();
  await using started = await startOriginal(receiver);
  const { postgres, node } = started;
  await started.deliver("one");
  await node.stop();
  const files = join(postgres.folder, "data");
  await postgres.stop();
  copyFiles(files, `${files}-aside`);
  await postgres.start();
  await node.start();
  await started.deliver("two");
  await node.stop();
  await postgres.stop();
  Bun.spawnSync(["rm", "-r", files]);
  copyFiles(`${files}-aside`, files);
  await postgres.start();
  await node.start();
  expect(reasonsOf(node)).toEqual([
    expect.stringContaining("This is an older copy: it knows of 1 attempts, and 2 were made here."),
  ]);
});

/** A node on a PostgreSQL of its own, which the test copies or sets back, with a subscription to the receiver. */
async function startOriginal(receiver: Receiver) {
  const postgres = await startPostgres();
  const stage = await startNodes(1, {}, await postgres.createDatabase("original"));
  await stage.subscribe(receiver.url);
  // Nobody but the node may be connected to a database that is copied.
  await stage.database.close();
  const [node] = stage.nodes;
  if (!node) throw new Error("There is no node.");
  return {
    postgres,
    stage,
    node,
    /** Posts a message and returns when its delivery is logged. */
    async deliver(body: string): Promise<void> {
      await post(stage, node, body);
      await until("it is delivered", async () => (await queuedIn(postgres, "original")) === 0);
    },
    async [Symbol.asyncDispose]() {
      await stage[Symbol.asyncDispose]();
      await postgres[Symbol.asyncDispose]();
    },
  };
}

async function post({ token, team }: NodesStage, node: TestServer, body: string): Promise<void> {
  const path = `/channels/${team.general.id}/messages`;
  expect((await apiClient(node.url, token).post(path, { body })).status).toBe(201);
}

async function queuedIn(postgres: TestPostgres, database: string): Promise<number> {
  return (await postgres.query("SELECT event_seq FROM jobs", database)).length;
}

/** Why the node has held deliveries, once for each of its starts. */
function reasonsOf(node: TestServer): string[] {
  const lines = node.logLines().map((line) => JSON.parse(line) as { msg: string; reason: string });
  return lines.filter(({ msg }) => msg === "deliveries.held").map(({ reason }) => reason);
}

function bodiesOf({ requests }: Receiver): string[] {
  return requests.map(({ text }) => (JSON.parse(text) as { data: { body: string } }).data.body);
}

/** Copies a folder with the owners of its files: PostgreSQL runs under an account of its own. */
function copyFiles(from: string, to: string): void {
  expect(Bun.spawnSync(["cp", "-a", from, to]).exitCode).toBe(0);
}
