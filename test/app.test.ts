import { expect, test } from "bun:test";
import { mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { startApp } from "../src/app.ts";
import { readConfig } from "../src/config.ts";
import { createLog } from "../src/log/log.ts";
import { testOnSqlite } from "./support/on-sqlite.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { openWorkspace } from "./support/workspace.ts";

const log = createLog("silent");

function freePort(): number {
  using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  return server.port ?? 0;
}

test("a start that fails to get its port releases the folder for the next one", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const start = (port: number) =>
    startApp({
      config: { ...readConfig(folder.path, {}), port },
      dataDir: folder.path,
      database: workspace.database,
      log,
    });
  using other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const failure = await start(other.port ?? 0).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "EADDRINUSE" });
  const app = await start(0);
  expect((await fetch(`${app.url}/healthz`)).status).toBe(200);
  await app.stop();
});

// On PostgreSQL the database tells a server of work, not a file.
testOnSqlite("a start that cannot watch for work releases its port and its lock", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const port = freePort();
  const start = () =>
    startApp({
      config: { ...readConfig(folder.path, {}), port },
      dataDir: folder.path,
      database: workspace.database,
      log,
    });
  mkdirSync(join(folder.path, "queue.signal"));
  expect(await start().catch((error: unknown) => error)).toMatchObject({ code: "EISDIR" });
  rmdirSync(join(folder.path, "queue.signal"));
  const app = await start();
  expect((await fetch(`${app.url}/healthz`)).status).toBe(200);
  await app.stop();
});
