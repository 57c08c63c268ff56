import { describe, expect, test } from "bun:test";
import { SQL } from "bun";
import { until } from "../support/conditions.ts";
import { startPostgres } from "../support/postgres.ts";
import { type DatabaseStage, startDatabaseStage } from "../crash/database-stage.ts";
import { startOnSmallDisk } from "./small-disk.ts";

/** How many connections a small database takes. */
const connectionsMax = 20;

/** Expects that a server without its database says so, and refuses what it cannot do now rather than for good. */
async function expectUnavailable(stage: DatabaseStage, { reads }: { reads: 200 | 503 }): Promise<void> {
  const [posted, read, health, readiness] = await Promise.all([
    stage.api.post(stage.messagesPath, { body: "during the trouble" }),
    stage.api.get(stage.messagesPath),
    stage.health("/healthz"),
    stage.health("/readyz"),
  ]);
  expect([posted.status, read.status]).toEqual([503, reads]);
  expect(posted.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
  expect(posted.json.message).toMatch(/^[A-Z].*\. .*\.$/);
  expect([health.status, JSON.parse(health.text)]).toEqual([
    503,
    {
      status: "failing",
      reason: expect.stringMatching(/: nothing can be written since 20[^ ]+\.$/) as string,
    },
  ]);
  expect([readiness.status, JSON.parse(readiness.text)]).toMatchObject([
    503,
    { status: "failing", checks: { writes: { status: "failing", reason: expect.any(String) as string } } },
  ]);
}

/** Expects that the log tells of one trouble and of its end. */
async function expectOneTrouble(stage: DatabaseStage): Promise<void> {
  await stage.server.logLine(({ msg }) => msg === "database.trouble_over");
  expect([stage.logged("database.trouble"), stage.logged("database.trouble_over")]).toEqual([1, 1]);
}

describe("a server on PostgreSQL", () => {
  test("says 503 while the database refuses connections, and goes on when it no longer does", async () => {
    await using stage = await startDatabaseStage();
    await stage.underLoad(async () => {
      await stage.proxy.refuse();
      await stage.refused(200);
      await expectUnavailable(stage, { reads: 503 });
      await stage.proxy.accept();
    });
    await expectOneTrouble(stage);
    await stage.expectRecovered();
  }, 120_000);

  test("says 503 while the database takes everything and answers nothing, and goes on when it does again", async () => {
    await using stage = await startDatabaseStage();
    await stage.underLoad(async () => {
      stage.proxy.stall();
      await stage.refused(6);
      await expectUnavailable(stage, { reads: 503 });
      stage.proxy.resume();
    });
    await expectOneTrouble(stage);
    await stage.expectRecovered();
  }, 180_000);

  test("deletes expired data as soon as the database is back, where an outage has kept it from that", async () => {
    await using stage = await startDatabaseStage();
    const swept = () => stage.logged("retention.swept");
    await until("expired data is deleted at the start", () => swept() === 1);
    const begun = stage.proxy.holdNext(/pg_try_advisory_lock\(7261537/, "delayed");
    await stage.server.restart();
    await begun;
    await stage.proxy.refuse();
    await until("that has failed", () => stage.logged("retention.failed") > 0);
    await stage.proxy.accept();
    await until("it is done", () => swept() === 2, { timeout_ms: 60_000 });
    await stage.expectRecovered();
  }, 120_000);

  test("says 503 while others use up the database's connections, and goes on when there are some", async () => {
    await using stage = await startDatabaseStage(
      await startPostgres({ settings: { max_connections: `${connectionsMax}` } }),
    );
    await stage.underLoad(async () => {
      const others = await takeAllConnections(stage);
      await stage.refused(20);
      await expectUnavailable(stage, { reads: 503 });
      await Promise.all(others.map((other) => other.close()));
    });
    await stage.server.logLine(({ msg }) => msg === "database.trouble_over");
    await stage.expectRecovered();
  }, 120_000);

  test("says 503 while the database is read-only, still answers questions, and goes on when it takes writes", async () => {
    await using postgres = await startPostgres();
    await using stage = await startDatabaseStage(postgres);
    await stage.underLoad(async () => {
      await postgres.query("ALTER SYSTEM SET default_transaction_read_only = on");
      await postgres.query("SELECT pg_reload_conf()");
      await stage.refused(100);
      await expectUnavailable(stage, { reads: 200 });
      await postgres.query("ALTER SYSTEM RESET default_transaction_read_only");
      await postgres.query("SELECT pg_reload_conf()");
    });
    await expectOneTrouble(stage);
    await stage.expectRecovered();
  }, 120_000);

  test("says 503 while the database's disk is full, still answers questions, and goes on when there is room", async () => {
    const disk = await startOnSmallDisk();
    await using postgres = disk.postgres;
    await using stage = await startDatabaseStage(postgres);
    await stage.underLoad(async () => {
      disk.fill(100_000);
      await stage.refused(100);
      const refusal = await until("a post is refused", async () => {
        const answer = await stage.api.post(stage.messagesPath, { body: "x".repeat(10_000) });
        return answer.status === 503 && answer;
      });
      expect(refusal.json.message).toMatch(/^The disk of the database is full\. /);
      expect((await stage.api.get(stage.messagesPath)).status).toBe(200);
      disk.clear();
    });
    await stage.expectRecovered();
  }, 120_000);

  test("says 503 while the disk under the database's log is full, which ends it, and goes on when it runs again", async () => {
    const disk = await startOnSmallDisk("log");
    await using postgres = disk.postgres;
    await using stage = await startDatabaseStage(postgres);
    await stage.underLoad(async () => {
      disk.fill(100_000);
      await stage.refused(20);
      const refusal = await until("a post is refused", async () => {
        const answer = await stage.api.post(stage.messagesPath, { body: "x".repeat(10_000) });
        return answer.status === 503 && answer;
      });
      expect(refusal.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
      disk.clear();
    });
    await stage.expectRecovered();
  }, 120_000);
});

/** Takes all connections of the database, the server's included. */
async function takeAllConnections(stage: DatabaseStage): Promise<SQL[]> {
  const others: SQL[] = [];
  await until("there is no connection left", async () => {
    stage.proxy.cut();
    const other = new SQL(stage.url, { max: 1 });
    const isTaken = await other`SELECT 1`.then(
      () => true,
      () => false,
    );
    if (isTaken) others.push(other);
    return others.length === connectionsMax;
  });
  return others;
}
