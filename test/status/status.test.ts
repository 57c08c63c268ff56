import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { selectEventTime } from "../../src/outbox/event-store.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import type { WorkspaceStatus } from "../../src/status/status.ts";
import { disableSubscription } from "../../src/subscriptions/status.ts";
import { createSubscription } from "../../src/subscriptions/subscriptions.ts";
import { timestamp } from "../../src/timestamp.ts";
import { run, runJson } from "../support/cli.ts";
import { engine } from "../support/engine.ts";
import { startServer } from "../support/server.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace, type Workspace } from "../support/workspace.ts";

let folder: TemporaryFolder;
let workspace: Workspace;
let acme: Awaited<ReturnType<Workspace["team"]>>;

beforeAll(async () => {
  folder = temporaryFolder();
  workspace = await openWorkspace(folder.path);
  acme = await workspace.team("Acme");
});
afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function status(): Promise<WorkspaceStatus> {
  return await runJson<WorkspaceStatus>(folder.path, ["status"]);
}

async function subscribe(name: string): Promise<string> {
  const { data } = await createSubscription(
    {
      database: workspace.database,
      guard: { blockPrivate: false },
      vault: new Vault(findKey(folder.path, "")),
      log: { warn: () => {} },
      maxSubscriptions: 1_000,
    },
    acme.id,
    { name, url: "http://127.0.0.1:9/", events: ["message.created"] },
    actor,
  );
  return data.id;
}

test("status of a new workspace says that nothing runs and nothing waits, and what to do next", async () => {
  const { status: exit, stdout, stderr } = await run(folder.path, ["status"]);
  expect(exit).toBe(0);
  expect(stdout).toContain(`data folder    ${folder.path}\n`);
  expect(stdout).toContain(
    engine === "postgres" ? "nodes          none runs\n" : "server         not running\n",
  );
  expect(stdout).toContain("queue          empty\n");
  expect(stdout).toContain("subscriptions  none\n");
  expect(stderr).toBe("Next: parley serve\n");
  const { server, size, teams, queue } = await status();
  expect(server).toEqual({ running: false, url: null, pid: null, version: null, started_at: null });
  expect(size.database_bytes).toBeGreaterThan(0);
  expect(size.free_bytes).toBeGreaterThan(0);
  expect(teams).toBe(1);
  expect(queue).toEqual({ jobs: 0, is_more: false, oldest_at: null, next_due_at: null, events_to_queue: 0 });
});

test("status counts what waits, for active and for disabled subscriptions apart, and names who is in trouble", async () => {
  const failing = await subscribe("CI");
  const disabled = await subscribe("Old");
  await workspace.message(acme.general, acme.owner, "one");
  await workspace.message(acme.general, acme.owner, "two");
  await workspace.database.write(async (tx) => {
    await disableSubscription(tx, acme.id, disabled, actor);
    tx.$client.prepare("UPDATE subscriptions SET consecutive_failures = 3 WHERE id = ?").run(failing);
  });
  const oldest_at = timestamp(await workspace.database.ask((db) => selectEventTime(db, 1)));
  const { queue, subscriptions, waiting_for_disabled } = await status();
  expect(queue).toMatchObject({ jobs: 2, is_more: false, oldest_at, next_due_at: oldest_at });
  expect(waiting_for_disabled).toEqual({ jobs: 2, is_more: false, oldest_at });
  expect(subscriptions.active).toBe(1);
  expect(subscriptions.failing).toMatchObject([{ id: failing, team: "acme", consecutive_failures: 3 }]);
  expect(subscriptions.disabled).toMatchObject([{ id: disabled, name: "Old" }]);
  const { stdout } = await run(folder.path, ["status"]);
  expect(stdout).toMatch(/^queue +2 deliveries, the oldest from .*; the first was due /m);
  expect(stdout).toMatch(/^subscriptions +1 active \(1 failing\), 1 disabled$/m);
  expect(stdout).toMatch(/^failing +CI, 3 failures in a row$/m);
  expect(stdout).toMatch(/^disabled +Old, /m);
  expect(stdout).toMatch(/^kept for them +2 events, /m);
});

test("a queue too long to count is said to hold more than what was counted", async () => {
  await workspace.database.write((tx) =>
    tx.$client
      .prepare(`WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < 10001)
       INSERT INTO jobs (subscription_id, due_at, event_seq, attempts)
       SELECT subscription_id, due_at + n, event_seq, 0 FROM numbers, (SELECT * FROM jobs ORDER BY due_at LIMIT 2) AS two`)
      .run(),
  );
  const { queue } = await status();
  expect(queue).toMatchObject({ jobs: 10_000, is_more: true });
  const { stdout } = await run(folder.path, ["status"]);
  expect(stdout).toMatch(/^queue +more than 10,000 deliveries, /m);
});

test("status names the server that holds the folder, and no other", async () => {
  await using server = await startServer({
    dataDir: folder.path,
    environment: { INTEGRATIONS_ENABLED: "false" },
  });
  expect((await status()).server).toMatchObject({ running: true, url: server.url, pid: server.pid });
  const shown = engine === "postgres" ? `${server.url}, started` : `running at ${server.url}\n`;
  expect((await run(folder.path, ["status"])).stdout).toContain(shown);
  await server.kill9();
  expect((await status()).server).toMatchObject({ running: false, url: null });
  await server.start();
  writeFileSync(join(folder.path, "server.json"), "garbage");
  expect((await status()).server).toMatchObject({ running: true, url: null });
  const said = engine === "postgres" ? `${server.url}, started` : "running, but its address is not known";
  expect((await run(folder.path, ["status"])).stdout).toContain(said);
});

test("asking for the status often does not keep a server from starting", async () => {
  let isOver = false;
  const asking = (async () => {
    while (!isOver) await status();
  })();
  try {
    for (let start = 0; start < 3; start++) {
      await using server = await startServer({
        dataDir: folder.path,
        environment: { INTEGRATIONS_ENABLED: "false" },
      });
      await server.stop();
    }
  } finally {
    isOver = true;
    await asking;
  }
});

test("without a workspace, status says how to make one", async () => {
  using empty = temporaryFolder();
  const { status: exit, stderr } = await run(empty.path, ["status"]);
  expect(exit).toBe(3);
  expect(stderr).toContain("parley init");
});
