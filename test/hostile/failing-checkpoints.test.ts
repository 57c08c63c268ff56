import { Database as SqliteFile } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { startServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

const mebibyte = 1_024 * 1_024;

/** For what takes the server a second or two, on a busy machine. */

/** Lets no file of the process be written beyond so many bytes; the one that is longer already cannot grow then. */
function limitFiles(pid: number, bytes: string): void {
  const { exitCode, stderr } = Bun.spawnSync(["prlimit", "--pid", String(pid), `--fsize=${bytes}:`]);
  expect(exitCode, stderr.toString()).toBe(0);
}

test("a server whose checkpoints fail accepts messages, and logs that its WAL grows and why", async () => {
  using folder = temporaryFolder();
  const workspace = await openWorkspace(folder.path);
  const { owner, general } = await workspace.team("Acme");
  const { token } = await workspace.token(owner);
  await workspace[Symbol.asyncDispose]();
  const file = new SqliteFile(join(folder.path, "parley.db"));
  file.run("CREATE TABLE ballast AS SELECT zeroblob(?) AS bytes", [64 * mebibyte]);
  file.run("PRAGMA wal_checkpoint(TRUNCATE)");
  file.close();

  await using server = await startServer({
    dataDir: folder.path,
    within: ["/bin/sh", "-c", 'trap "" XFSZ; exec "$0" "$@"'],
  });
  const client = apiClient(server.url, token);
  const health = async () => {
    const response = await fetch(`${server.url}/healthz`);
    return { status: response.status, body: (await response.json()) as { reason?: string } };
  };
  const body = "x".repeat(8_000);
  const post = async () => {
    expect((await client.post(`/channels/${general.id}/messages`, { body })).status).toBe(201);
  };

  limitFiles(server.pid, String(60 * mebibyte));
  await until("it is said", async () => {
    await Promise.all(Array.from({ length: 200 }, post));
    return (await health()).status === 503;
  });
  expect((await health()).body.reason).toMatch(
    /^The disk reports an error: parley\.db-wal has not been checkpointed into parley\.db since 20\S+ and has grown to \d+ MiB\.$/,
  );
  await post();

  limitFiles(server.pid, "unlimited");
  await until("it is well again", async () => (await health()).status === 200);
  await server.logLine(({ msg, of }) => msg === "database.trouble_over" && of === "checkpoints");
  expect(server.logLines().filter((line) => line.includes('"database.trouble"'))).toHaveLength(1);
}, 60_000);
