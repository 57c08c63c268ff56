import { expect, test } from "bun:test";
import { QueueSurvey } from "../../src/deliveries/queue-survey.ts";
import { createLog } from "../../src/log/log.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { createSubscription } from "../../src/subscriptions/subscriptions.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace } from "../support/workspace.ts";

test("a survey of the queue counts every job once, by the status of its subscription, and finds the oldest", async () => {
  using folder = temporaryFolder();
  await using workspace = openWorkspace(folder.path);
  const { database } = workspace;
  const { owner } = await workspace.team("Acme");
  const parts = {
    database,
    vault: new Vault(findKey(folder.path, "")),
    guard: { blockPrivate: false },
    log: createLog("silent"),
    maxSubscriptions: 1_000,
  };
  const subscribe = async () => {
    const input = { name: "test", url: "http://127.0.0.1:9/", events: ["message.created"] };
    return (await createSubscription(parts, owner.teamId, input, actor)).data.id;
  };
  const ids = [];
  // More than one page of subscriptions.
  for (let n = 0; n < 203; n++) ids.push(await subscribe());
  const [many = "", few = "", disabled = "", deleted = "", failing = ""] = ids;
  const now = Date.now();
  const queue = (id: string, count: number, dueAt: (n: number) => number) =>
    database.write((tx) => {
      const statement = tx.$client.prepare("INSERT INTO jobs VALUES (?, ?, ?, 0)");
      for (let n = 0; n < count; n++) statement.run(id, dueAt(n), n + 1);
    });
  await database.write((tx) => {
    const insert = tx.$client.prepare(
      "INSERT INTO events (id, type, data, created_at) VALUES (?, 'message.created', '{}', 0)",
    );
    for (let n = 0; n < 12_345; n++) insert.run(Bun.randomUUIDv7());
    tx.$client.run("UPDATE subscriptions SET status = 'disabled', disabled_at = 1 WHERE id = ?", [disabled]);
    tx.$client.run("UPDATE subscriptions SET deleted_at = 1 WHERE id = ?", [deleted]);
    tx.$client.run("UPDATE subscriptions SET consecutive_failures = 2 WHERE id = ?", [failing]);
  });
  // Ten thousand that are due in one millisecond, across the ends of pages, and jobs before and after them.
  await queue(many, 12_345, (n) => (n < 10_000 ? now - 60_000 : now + n));
  await queue(few, 3, () => now + 3_600_000);
  await queue(disabled, 7, () => now - 999_000);
  await queue(deleted, 5, () => now - 999_000);

  const survey = new QueueSurvey(database.read, () => false);
  const figures = await survey.figures();
  expect(figures).toMatchObject({
    jobs: { active: 12_348, disabled: 7 },
    fanOuts: 0,
    subscriptions: { active: 200, failing: 1, disabled: 1 },
  });
  expect(figures.oldestDueMs).toBeGreaterThanOrEqual(60_000);
  expect(figures.oldestDueMs).toBeLessThan(999_000);
  expect((await new QueueSurvey(database.read, (id) => id === many).figures()).oldestDueMs).toBe(0);
});
