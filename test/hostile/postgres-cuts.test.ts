import { describe, expect, test } from "bun:test";
import { startDatabaseStage } from "../crash/database-stage.ts";
import { run, runJson } from "../support/cli.ts";
import { until } from "../support/conditions.ts";

/** What ends the transaction of rows that are written together, and of a change that needs statements. */
const flush = /\bappend_rows\(/;
const commit = /^COMMIT/i;

describe("a connection to PostgreSQL that is cut", () => {
  test("while a message is committed leaves one message, whether it was before or after", async () => {
    await using stage = await startDatabaseStage();
    for (const fault of ["lost", "unanswered"] as const) {
      const cut = stage.proxy.cutNext(flush, fault);
      const body = `posted while its commit was ${fault}`;
      const { status } = await stage.api.post(stage.messagesPath, { body });
      await cut;
      expect([fault, status]).toEqual([fault, 201]);
      expect(await stage.column(`SELECT id FROM messages WHERE body = '${body}'`)).toHaveLength(1);
    }
    await stage.expectRecovered();
  }, 60_000);

  test("while a change is committed leaves one change, whether it was before or after", async () => {
    await using stage = await startDatabaseStage();
    const { json } = await stage.api.post<{ data: { id: string } }>(stage.messagesPath, { body: "first" });
    for (const fault of ["lost", "unanswered"] as const) {
      const cut = stage.proxy.cutNext(commit, fault);
      const body = `changed while its commit was ${fault}`;
      const { status } = await stage.api.patch(`${stage.messagesPath}/${json.data.id}`, { body });
      await cut;
      expect([fault, status]).toEqual([fault, 200]);
      const events = `SELECT id FROM events WHERE type = 'message.updated' AND data LIKE '%${body}%'`;
      expect(await stage.column(events)).toHaveLength(1);
    }
    await stage.expectRecovered();
  }, 60_000);

  test("by a server that vanishes in the middle of a change makes others wait, but refuses them nothing", async () => {
    await using stage = await startDatabaseStage();
    const { json } = await stage.api.post<{ data: { id: string } }>(stage.messagesPath, { body: "first" });
    const held = stage.proxy.holdNext(commit, "delayed");
    const change = stage.api.patch(`${stage.messagesPath}/${json.data.id}`, { body: "changed" });
    await held;
    const other = ["teams", "create", "--name", "Other"];
    await runJson(stage.server.dataDir, other, { PARLEY_DATABASE_URL: stage.url });
    expect((await change).status).toBe(200);
    await stage.expectRecovered();
  }, 60_000);

  test("by a server that stops in the middle of a statement is ended by those who wait for it", async () => {
    await using stage = await startDatabaseStage();
    const { json } = await stage.api.post<{ data: { id: string } }>(stage.messagesPath, { body: "first" });
    const held = stage.proxy.holdNext(/pg_advisory_xact_lock\(/, "open");
    const change = stage.api.patch(`${stage.messagesPath}/${json.data.id}`, { body: "changed" });
    await held;
    process.kill(stage.server.pid, "SIGSTOP");
    const other = ["teams", "create", "--name", "Other"];
    await until("another makes a change", async () => {
      const { status } = await run(stage.server.dataDir, other, { PARLEY_DATABASE_URL: stage.url });
      return status === 0;
    });
    process.kill(stage.server.pid, "SIGCONT");
    // It makes the change again, unless it stood still for too long.
    expect([200, 503]).toContain((await change).status);
    await stage.expectRecovered();
  }, 60_000);

  test("again and again under load loses nothing, does nothing twice, and fails no delivery", async () => {
    await using stage = await startDatabaseStage();
    await stage.underLoad(async () => {
      for (let round = 0; round < 12; round++) {
        await stage.proxy.cutNext(flush, "unanswered");
        await stage.proxy.cutNext(commit, "unanswered");
        await stage.proxy.cutNext(flush, "lost");
        await stage.proxy.cutNext(commit, "lost");
        stage.proxy.cut();
      }
    });
    await stage.expectRecovered();
  }, 120_000);
});
