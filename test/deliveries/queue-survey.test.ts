import { expect, test } from "bun:test";
import { QueueSurvey } from "../../src/deliveries/queue-survey.ts";
import { createLog } from "../../src/log/log.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { createSubscription } from "../../src/subscriptions/subscriptions.ts";
import { until } from "../support/conditions.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace } from "../support/workspace.ts";

test("a survey of the queue finds the oldest job at once, and counts every job once by the status of its subscription", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
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
  await database.write(({ $client, commit }) => {
    commit.hasChanged = true;
    $client
      .prepare(`INSERT INTO events (id, type, data, created_at)
       WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
       SELECT 'event ' || n, 'message.created', '{}', 0 FROM numbers`)
      .run();
    const queue = (id: string, count: number, dueAt: string) =>
      $client
        .prepare(`INSERT INTO jobs SELECT ?, ${dueAt}, seq, 0 FROM events WHERE seq <= ?`)
        .run(id, count);
    // Ten thousand are due in one millisecond, which is more than a page, and further ones after them.
    queue(many, 100_000, `CASE WHEN seq <= 10000 THEN ${now - 60_000} ELSE ${now} + seq END`);
    queue(few, 3, String(now + 3_600_000));
    queue(disabled, 7, String(now - 999_000));
    queue(deleted, 5, String(now - 999_000));
    $client
      .prepare("UPDATE subscriptions SET status = 'disabled', disabled_at = 1 WHERE id = ?")
      .run(disabled);
    $client.prepare("UPDATE subscriptions SET deleted_at = 1 WHERE id = ?").run(deleted);
    $client.prepare("UPDATE subscriptions SET consecutive_failures = 2 WHERE id = ?").run(failing);
  });

  const survey = new QueueSurvey(database, () => false);
  const first = await survey.figures();
  expect(first).toMatchObject({
    subscriptions: { active: 200, failing: 1, disabled: 1 },
    // Counting so many takes longer than a caller waits.
    counts: undefined,
  });
  expect(first.oldestDueMs).toBeGreaterThanOrEqual(60_000);
  expect(first.oldestDueMs).toBeLessThan(999_000);
  const counts = await until("everything is counted", async () => (await survey.figures()).counts);
  expect(counts).toEqual({ jobs: { active: 100_003, disabled: 7 }, fanOuts: 0 });
  const held = new QueueSurvey(database, (id) => id === many);
  expect((await held.figures()).oldestDueMs).toBe(0);
  held.stop();
});
