import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { Database as SqliteFile } from "bun:sqlite";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { run, runJson, runRefused } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { parley } from "../support/server.ts";
import {
  cutConnection,
  isWaiting,
  killInTheMiddle,
  messages,
  type Moved,
  MoveStage,
  moveTo,
  startMove,
} from "./stage.ts";

let stage: MoveStage;

beforeAll(async () => {
  stage = await MoveStage.start();
});
beforeEach(() => stage.nextDatabase());
afterAll(() => stage[Symbol.asyncDispose]());

test("killed in the middle, a move leaves the workspace as it was, and goes on from there", async () => {
  const dataDir = stage.copyOfAcme("killed");
  await killInTheMiddle(stage, dataDir);
  expect(await runJson<object[]>(dataDir, ["teams", "list"])).toMatchObject([{ name: "Acme" }]);

  const { rows, resumed_rows, tables } = await moveTo(dataDir, stage.url);
  expect(resumed_rows).toBeGreaterThan(0);
  expect(resumed_rows).toBeLessThan(rows);
  expect([...(await stage.sql`SELECT count(*)::integer AS rows FROM messages`)]).toEqual([
    { rows: messages },
  ]);
  expect(tables.find(({ name }) => name === "messages")).toMatchObject({ rows: messages });
});

test("a workspace that was changed after a move was killed is copied from the beginning", async () => {
  const dataDir = stage.copyOfAcme("changed");
  await killInTheMiddle(stage, dataDir);
  {
    using file = new SqliteFile(join(dataDir, "parley.db"));
    file.run("UPDATE messages SET body = 'changed' WHERE position = 3");
  }
  expect(await moveTo(dataDir, stage.url)).toMatchObject({ resumed_rows: 0 });
  expect([...(await stage.sql`SELECT body FROM messages WHERE position = 3`)]).toEqual([{ body: "changed" }]);
});

test("what a killed move has copied can be dropped, and nothing of it stays", async () => {
  const dataDir = stage.copyOfAcme("discarded");
  await killInTheMiddle(stage, dataDir);
  const discard = () => runJson<object>(dataDir, ["move", "--to", stage.url, "--discard", "--yes"]);
  expect(await discard()).toMatchObject({ dropped: true });
  const left = await stage.sql`SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace`;
  expect([...left]).toEqual([]);
  expect(await discard()).toMatchObject({ dropped: false });
});

test("a move to a folder that was killed goes on, and the folder is no workspace until then", async () => {
  const dataDir = stage.copyOfAcme("source");
  await moveTo(dataDir, stage.url);
  const back = stage.path("unfinished");
  const environment = { PARLEY_DATABASE_URL: stage.url };
  // A table after the messages, which the move waits for.
  const blocking = await stage.sql.reserve();
  await blocking.unsafe("BEGIN; LOCK TABLE reactions IN ACCESS EXCLUSIVE MODE").simple();
  await using moving = Bun.spawn([parley, "move", "--to", back, "--yes"], {
    env: { PARLEY_DATA_DIR: dataDir, ...environment },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  await until("the move waits", async () => {
    expect(moving.exitCode).toBeNull();
    return await isWaiting(blocking);
  });
  moving.kill("SIGKILL");
  await moving.exited;
  await blocking`ROLLBACK`;
  await blocking.release();
  for (const args of [
    ["teams", "list"],
    ["init", "--team", "B", "--owner", "B"],
  ]) {
    const { status, message } = await runRefused(back, args);
    expect(status).toBe(3);
    expect(message).toContain(`A workspace was being moved to ${back}`);
  }
  const ended = await run(dataDir, ["move", "--to", back, "--yes", "--json"], environment);
  expect(ended.status, ended.stdout).toBe(0);
  expect((JSON.parse(ended.stdout) as { data: Moved }).data.resumed_rows).toBeGreaterThan(messages);
  expect(await runJson<object[]>(back, ["teams", "list"])).toMatchObject([{ name: "Acme" }]);
});

test("what was moved from another folder is not gone on with", async () => {
  await killInTheMiddle(stage, stage.copyOfAcme("one"));
  const { status, message } = await runRefused(stage.copyOfAcme("other"), [
    "move",
    "--to",
    stage.url,
    "--yes",
  ]);
  expect(status).toBe(3);
  expect(message).toContain(`the move from ${stage.path("one")} that began at `);
});

test("nobody can use or change the workspace while it is moved, on neither side", async () => {
  const dataDir = stage.copyOfAcme("locked");
  await using moving = await startMove(stage, dataDir);
  const serve = await runRefused(dataDir, ["serve", "--port", "0"]);
  expect(serve.message).toContain("Another parley is serving");
  // As a command does, which would wait for five seconds first.
  using file = new SqliteFile(join(dataDir, "parley.db"));
  expect(() => file.run("UPDATE teams SET name = 'B'")).toThrow("database is locked");
  for (const args of [
    ["teams", "list"],
    ["serve", "--port", "0"],
    ["init", "--team", "B", "--owner", "B"],
  ]) {
    const { status, stdout } = await run(dataDir, [...args, "--json"], { PARLEY_DATABASE_URL: stage.url });
    expect(status, stdout).toBe(3);
    expect(stdout).toContain(`is not whole: the move from ${dataDir} that began at `);
  }
  await moving.goOn();
  expect(await moving.ended).toMatchObject({ status: 0 });
});

test("a connection that is cut ends the move with the reason, and the next one goes on", async () => {
  const dataDir = stage.copyOfAcme("cut");
  await using moving = await startMove(stage, dataDir);
  await cutConnection(stage);
  const { status, stdout } = await moving.ended;
  expect(status).toBe(1);
  expect((JSON.parse(stdout) as { message: string }).message).toMatch(
    /^The (connection to the database was cut|database is stopping or starting, or has ended the connection): postgres:/,
  );
  await moving.goOn();
  expect(await runJson<object[]>(dataDir, ["teams", "list"])).toHaveLength(1);
  expect((await moveTo(dataDir, stage.url)).resumed_rows).toBeGreaterThan(1_000);
});

test("a disk that fills up where the workspace goes to is named, and the workspace stays where it is", async () => {
  const target = stage.path("full");
  mkdirSync(target);
  const script = 'mount -t tmpfs -o size=1m none "$1" && exec "$2" --data-dir "$3" move --to "$1" --yes';
  const within = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh"];
  const dataDir = stage.copyOfAcme("too-large");
  const child = Bun.spawn([...within, target, parley, dataDir], { stdout: "pipe", stderr: "pipe" });
  expect(await child.stderr.text()).toContain(`The disk that holds ${target} is full.`);
  expect(await child.exited).toBe(1);
  expect(await runJson<object[]>(dataDir, ["teams", "list"])).toMatchObject([{ name: "Acme" }]);
});

test("interrupted at a terminal, a move says what has become of it", async () => {
  const dataDir = stage.copyOfAcme("interrupted");
  await using moving = await startMove(stage, dataDir);
  moving.interrupt();
  await moving.goOn();
  const { status, stdout } = await moving.ended;
  expect(status).toBe(1);
  expect((JSON.parse(stdout) as { message: string }).message).toBe(
    `Stopped. The workspace in ${dataDir} is as it was. Go on with the same command, or add --discard.`,
  );
  expect((await moveTo(dataDir, stage.url)).resumed_rows).toBeGreaterThan(1_000);
});
