import { expect, setDefaultTimeout, test } from "bun:test";
import { runJson } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { type NodesStage, startNodes } from "../support/nodes.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { command } from "../support/postgres-programs.ts";
import { type Receiver, startReceiver } from "../support/receivers/receiver.ts";
import type { TestServer } from "../support/server.ts";

/** Each test starts a PostgreSQL and several servers, on a machine that may be busy. */
setDefaultTimeout(120_000);

/** An event goes on waiting while a dump is made, and is delivered soon when its receiver wants it. */
const manyRetries = { WEBHOOKS_BACKOFF_BASE: "0.2", WEBHOOKS_MAX_ATTEMPTS: "100" };

test("no restart of one server among three holds deliveries", async () => {
  await using receiver = startReceiver();
  await using stage = await startNodes(3);
  await stage.subscribe(receiver.url);
  for (const [index, node] of stage.nodes.entries()) {
    await post(stage, `before ${index}`);
    await receiver.received(3 * index + 1);
    await (index === 1 ? node.kill9() : node.stop());
    // The others go on meanwhile.
    await post(stage, `during ${index}`);
    await receiver.received(3 * index + 2);
    await node.start();
    await post(stage, `after ${index}`);
    await receiver.received(3 * index + 3);
  }
  for (const node of stage.nodes) await node.stop();
  for (const node of stage.nodes) await node.restart();
  for (const node of stage.nodes) expect(reasonsOf(node)).toEqual([]);
});

test("an older dump that takes the place of the data holds deliveries, also if a new server starts first", async () => {
  await using receiver = startReceiver(() => new Response(null, { status: 500 }));
  await using postgres = await startPostgres();
  await using stage = await startNodes(1, manyRetries, await postgres.createDatabase("chat"));
  const webhook = await stage.subscribe(receiver.url);
  await post(stage, "one");
  await until("it was attempted", async () => (await attemptsIn(postgres)) > 0);
  const at = ["-h", postgres.folder, "-p", String(postgres.port), "-U", "parley"];
  await command(postgres.folder, ["pg_dump", "--format=custom", "--file=chat.dump", ...at, "chat"]);
  receiver.answer = () => new Response(null, { status: 200 });
  await until("it is delivered", async () => (await queuedIn(postgres)) === 0);
  const sent = receiver.requests.length;
  await post(stage, "two");
  await receiver.received(sent + 1);
  await until("that is delivered", async () => (await queuedIn(postgres)) === 0);

  for (const node of stage.nodes) await node.stop();
  await stage.database.close();
  const restore = ["pg_restore", "--clean", "--if-exists", "--exit-on-error", "--dbname=chat"];
  await command(postgres.folder, [...restore, ...at, "chat.dump"]);
  // One that was never there knows nothing of attempts that the dump has not.
  await stage.add();
  await stage.nodes[0]?.start();
  for (const node of stage.nodes) {
    expect(reasonsOf(node)).toEqual([expect.stringContaining("it was used here before a dump was restored")]);
  }

  const environment = { PARLEY_DATABASE_URL: stage.url };
  const [node] = stage.nodes;
  const dataDir = node?.dataDir ?? "";
  const { webhooks } = await runJson<{ webhooks: Array<{ webhook_id: string; events: number }> }>(
    dataDir,
    ["deliveries", "held"],
    environment,
  );
  expect(webhooks).toMatchObject([{ webhook_id: webhook, events: 1 }]);
  await runJson(dataDir, ["deliveries", "discard", "--yes"], environment);
  await post(stage, "three");
  await receiver.received(sent + 2);
  expect(bodiesOf(receiver).slice(-2)).toEqual(["two", "three"]);
});

async function post({ nodes, team, api }: NodesStage, body: string): Promise<void> {
  const running = nodes.findIndex((node) => node.isServing);
  const { status } = await api(running).post(`/channels/${team.general.id}/messages`, { body });
  expect(status).toBe(201);
}

async function queuedIn(postgres: TestPostgres): Promise<number> {
  return (await postgres.query("SELECT event_seq FROM jobs", "chat")).length;
}

async function attemptsIn(postgres: TestPostgres): Promise<number> {
  return (await postgres.query("SELECT seq FROM attempts", "chat")).length;
}

/** Why the node has held deliveries, once for each of its starts. */
function reasonsOf(node: TestServer): string[] {
  const lines = node.logLines().map((line) => JSON.parse(line) as { msg: string; reason: string });
  return lines.filter(({ msg }) => msg === "deliveries.held").map(({ reason }) => reason);
}

function bodiesOf({ requests }: Receiver): string[] {
  return requests.map(({ text }) => (JSON.parse(text) as { data: { body: string } }).data.body);
}
