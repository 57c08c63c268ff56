import { describe, expect, test } from "bun:test";
import { startApp } from "../../src/app.ts";
import { readConfig } from "../../src/config.ts";
import { QueueSurvey } from "../../src/deliveries/queue-survey.ts";
import { Readiness, type ReadinessParts, type Report } from "../../src/health/readiness.ts";
import { createLog } from "../../src/log/log.ts";
import { postMessage } from "../../src/messages/messages.ts";
import { createSubscription } from "../../src/subscriptions/subscriptions.ts";
import { subjectOf } from "../../src/users/users.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { engine } from "../support/engine.ts";
import { testOnSqlite } from "../support/on-sqlite.ts";
import { holdWriteLock } from "../support/tampering.ts";
import { until } from "../support/conditions.ts";
import { startServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace } from "../support/workspace.ts";

async function readyz(url: string): Promise<{ status: number; report: Report }> {
  const response = await fetch(`${url}/readyz`);
  return { status: response.status, report: (await response.json()) as Report };
}

describe("the health routes", () => {
  test("say without a token that the server lives and is ready, with one entry per check", async () => {
    await using server = await startServer();
    const alive = await fetch(`${server.url}/livez`);
    expect([alive.status, await alive.json()]).toEqual([200, { status: "ok" }]);
    expect(await readyz(server.url)).toEqual({
      status: 200,
      report: {
        status: "ok",
        checks: {
          writes: { status: "ok", duration_ms: expect.any(Number) },
          worker: { status: "ok" },
          oldest_due_job: { status: "ok", age_seconds: 0 },
          disk_space:
            engine === "sqlite"
              ? { status: "ok", free_bytes: expect.any(Number) }
              : // The disk is the database's, which this server does not see.
                { status: "off" },
        },
      },
    });
    expect((await fetch(`${server.url}/readyz`, { method: "HEAD" })).status).toBe(200);
    expect((await fetch(`${server.url}/api/v1/readyz`)).status).toBe(404);
  });

  test("work with the integrations switched off, and say that nothing is delivered", async () => {
    await using server = await startServer({ environment: { INTEGRATIONS_ENABLED: "false" } });
    const { status, report } = await readyz(server.url);
    expect([status, report.status]).toEqual([200, "ok"]);
    expect(report.checks).toMatchObject({
      writes: { status: "ok" },
      worker: { status: "off" },
      oldest_due_job: { status: "off" },
    });
    expect((await fetch(`${server.url}/livez`)).status).toBe(200);
  });

  test("say that the server is not ready while nothing can be written, and that it is again afterwards", async () => {
    await using server = await startServer();
    const release = await holdWriteLock(server.dataDir);
    const { status, report } = await readyz(server.url);
    expect([status, report.status]).toEqual([503, "failing"]);
    expect(report.checks.writes).toEqual({ status: "failing", reason: expect.stringMatching(/\w+\.$/) });
    expect(report.checks.writes.reason).not.toContain(server.dataDir);
    expect(report.checks.worker).toEqual({ status: "ok" });
    expect((await fetch(`${server.url}/livez`)).status).toBe(200);
    await release();
    const isReady = async () => (await readyz(server.url)).status === 200;
    await until("it is ready again", isReady);
  });

  testOnSqlite("say that the server is not ready on a disk with little room", async () => {
    using seed = temporaryFolder();
    using place = temporaryFolder();
    await (await openWorkspace(seed.path))[Symbol.asyncDispose]();
    const onSmallDisk = 'mount -t tmpfs -o size=40m tmpfs "$0" && cp -a "$1/." "$0" && shift && exec "$@"';
    await using server = await startServer({
      dataDir: place.path,
      environment: { PATH: process.env.PATH ?? "" },
      within: ["unshare", "--map-root-user", "--mount", "sh", "-c", onSmallDisk, place.path, seed.path],
    });
    const { status, report } = await readyz(server.url);
    expect([status, report.status]).toEqual([503, "failing"]);
    expect(report.checks).toMatchObject({
      writes: { status: "ok" },
      disk_space: {
        status: "failing",
        reason: "Less than 64 MiB are free on the disk of the data folder.",
        free_bytes: expect.any(Number),
      },
    });
  });

  test("say that the server is draining once it has been told to stop, while it still responds", async () => {
    using folder = temporaryFolder();
    await using workspace = await openWorkspace(folder.path);
    const config = { ...readConfig(folder.path, {}), port: 0 };
    const log = createLog("silent");
    const app = await startApp({ config, dataDir: folder.path, database: workspace.database, log });
    expect(await readyz(app.url)).toMatchObject({ status: 200, report: { status: "ok" } });
    const stopped = app.stop();
    expect(await readyz(app.url)).toMatchObject({ status: 503, report: { status: "draining" } });
    await stopped;
  });
});

describe("readiness", () => {
  test("makes one write for any number of requests at the same time", async () => {
    using folder = temporaryFolder();
    await using workspace = await openWorkspace(folder.path);
    const { database } = workspace;
    let writes = 0;
    const probeWrite = async () => {
      writes++;
      await database.probeWrite();
    };
    const readiness = new Readiness({
      database: { failure: () => database.failure(), probeWrite },
      dataDir: folder.path,
      survey: new QueueSurvey(database, () => false),
      deliveries: undefined,
    });
    const reports = await Promise.all(Array.from({ length: 500 }, () => readiness.report()));
    expect(reports.every(({ status }) => status === "ok")).toBe(true);
    expect(writes).toBe(1);
  });

  test("fails when a job has long been due and none is attempted, but not when another is or it is held back", async () => {
    using folder = temporaryFolder();
    await using workspace = await openWorkspace(folder.path);
    const { database } = workspace;
    const { owner, general } = await workspace.team("Acme");
    const subject = subjectOf(owner);
    const parts = {
      database,
      vault: new Vault(findKey(folder.path, "")),
      guard: { blockPrivate: false },
      log: createLog("silent"),
      maxSubscriptions: 1,
    };
    const input = { name: "test", url: "http://127.0.0.1:9/", events: ["message.created"] };
    const { data: subscription } = await createSubscription(parts, owner.teamId, input, actor);
    await database.write((tx) => postMessage(tx, subject, general.id, { body: "hello" }));
    await database.write((tx) => tx.$client.prepare("UPDATE jobs SET due_at = due_at - 3600000").run());
    const check = async (sinceAttemptMs: number, heldBack?: string) => {
      const deliveries: ReadinessParts["deliveries"] = {
        worker: { stalledMs: () => 0, sinceAttemptMs: () => sinceAttemptMs },
        fanOutLoop: { stalledMs: () => 0 },
        backoffBaseMs: 10_000,
      };
      const survey = new QueueSurvey(database, (id) => id === heldBack);
      const readiness = new Readiness({ database, dataDir: folder.path, survey, deliveries });
      return (await readiness.report()).checks.oldest_due_job;
    };
    expect(await check(600_000)).toEqual({
      status: "failing",
      reason: "Deliveries are due, and none was attempted for 600 seconds.",
      age_seconds: expect.any(Number),
    });
    const attempted = await check(1_000);
    expect(attempted.status).toBe("ok");
    expect(attempted.age_seconds).toBeGreaterThanOrEqual(3_600);
    expect(await check(600_000, subscription.id)).toEqual({ status: "ok", age_seconds: 0 });
  });

  test("fails when a loop of the worker does not go round", async () => {
    using folder = temporaryFolder();
    await using workspace = await openWorkspace(folder.path);
    const { database } = workspace;
    const report = await new Readiness({
      database,
      dataDir: folder.path,
      survey: new QueueSurvey(database, () => false),
      deliveries: {
        worker: { stalledMs: () => 45_000, sinceAttemptMs: () => 0 },
        fanOutLoop: { stalledMs: () => 0 },
        backoffBaseMs: 10_000,
      },
    }).report();
    expect(report.status).toBe("failing");
    expect(report.checks.worker).toMatchObject({ status: "failing" });
  });
});
