import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { SQL } from "bun";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run, runJson, runRefused } from "../support/cli.ts";
import { freshDatabase } from "../support/postgres.ts";
import { startServer } from "../support/server.ts";
import { MoveStage, moveTo } from "./stage.ts";

let stage: MoveStage;

beforeAll(async () => {
  stage = await MoveStage.start();
});
beforeEach(() => stage.nextDatabase());
afterAll(() => stage[Symbol.asyncDispose]());

test("a folder with another key, or with a database, takes no workspace", async () => {
  await moveTo(stage.copyOfAcme("keyed"), stage.url);
  const environment = { PARLEY_DATABASE_URL: stage.url };
  const otherKey = stage.path("other-key");
  mkdirSync(otherKey);
  writeFileSync(join(otherKey, "secret.key"), `${Buffer.alloc(32, 1).toString("base64")}\n`);
  const dataDir = stage.path("keyed");
  const moveBack = (to: string) => run(dataDir, ["move", "--to", to, "--yes", "--json"], environment);
  const keyed = await moveBack(otherKey);
  expect(keyed).toMatchObject({ status: 1 });
  expect(keyed.stdout).toContain("is not the key of the workspace");
  const occupied = await moveBack(stage.acme);
  expect(occupied).toMatchObject({ status: 1 });
  expect(occupied.stdout).toContain(`There is a workspace in ${stage.acme} already (parley.db).`);
  expect(readdirSync(otherKey)).toEqual(["secret.key"]);
  writeFileSync(join(dataDir, "secret.key.new"), `${Buffer.alloc(32, 2).toString("base64")}\n`);
  const rotating = await moveBack(stage.path("rotated"));
  expect(rotating).toMatchObject({ status: 1 });
  expect(rotating.stdout).toContain("A rotation of the key has not ended.");
});

test("a database that has a workspace, or something else, is not touched", async () => {
  await moveTo(stage.copyOfAcme("first"), stage.url);
  const before = [...(await stage.sql`SELECT * FROM teams`)];
  const dataDir = stage.copyOfAcme("second");
  const refused = await runRefused(dataDir, ["move", "--to", stage.url, "--yes"]);
  expect(refused).toMatchObject({ status: 1 });
  expect(refused.message).toContain("has a workspace already (team acme). Create an empty database");
  expect([...(await stage.sql`SELECT * FROM teams`)]).toEqual(before);
  expect(await runJson<object>(dataDir, ["move", "--to", stage.url, "--discard", "--yes"])).toMatchObject({
    dropped: false,
  });

  await using other = await freshDatabase();
  await using foreign = new SQL(other.url, { max: 1 });
  await foreign`CREATE TABLE users (name text)`;
  const { message } = await runRefused(dataDir, ["move", "--to", other.url, "--yes"]);
  expect(message).toContain("has a table users of something else.");
  expect([
    ...(await foreign`SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace`),
  ]).toEqual([{ relname: "users" }]);
  expect(await runJson<object[]>(dataDir, ["teams", "list"])).toHaveLength(1);
});

test("a workspace is not moved while it is served", async () => {
  const dataDir = stage.copyOfAcme("served");
  await using server = await startServer({ dataDir });
  expect(await runRefused(dataDir, ["move", "--to", stage.url, "--yes"])).toEqual({
    status: 1,
    message: `Another parley is serving ${dataDir} already. Stop it first.`,
  });
  await server.stop();
});

test("a database that cannot be reached or refuses the login is named without the password", async () => {
  const dataDir = stage.copyOfAcme("refused");
  const wrong = new URL(stage.url);
  wrong.password = "not-the-password";
  for (const [url, reason] of [
    [wrong.href, "The database refuses the login: postgres://127.0.0.1:"],
    [`${stage.url}_none`, "The PostgreSQL server has no database of this name: postgres://127.0.0.1:"],
    [
      "postgres://parley:not-the-password@127.0.0.1:1/parley",
      "The database cannot be reached: postgres://127.0.0.1:1/parley",
    ],
  ] as const) {
    const { status, message } = await runRefused(dataDir, ["move", "--to", url, "--yes"]);
    expect(status).toBe(1);
    expect(message).toContain(reason);
    expect(message).not.toContain("not-the-password");
  }
  expect(await runRefused(dataDir, ["move", "--to", "mysql://127.0.0.1/parley", "--yes"])).toMatchObject({
    status: 1,
  });
  expect(await runJson<object[]>(dataDir, ["teams", "list"])).toHaveLength(1);
});
