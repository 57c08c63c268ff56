import { SQL } from "bun";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { Database as SqliteFile } from "bun:sqlite";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { run, runJson, runRefused } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { freshDatabase } from "../support/postgres.ts";
import { parley, startServer } from "../support/server.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temporary-folder.ts";

/** What `parley move --json` prints. */
type Moved = {
  from: string;
  to: string;
  rows: number;
  digest: string;
  resumed_rows: number;
  tables: Array<{ name: string; rows: number; sha256: string }>;
};

/** So many that a move lasts long enough to be killed in the middle, and it copies some hundred pages. */
const messages = 20_000;

let folder: TemporaryFolder;
/** A workspace with the team Acme and many messages, which each test gets a copy of. */
let acme: string;
let database: Awaited<ReturnType<typeof freshDatabase>>;
let sql: SQL;

beforeAll(async () => {
  folder = temporaryFolder();
  acme = join(folder.path, "acme");
  await runJson(acme, ["init", "--team", "Acme", "--owner", "Ada"]);
  using file = new SqliteFile(join(acme, "parley.db"));
  file.run(
    `WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${messages})
     INSERT INTO messages (id, channel_id, position, author_id, type, body, created_at)
     SELECT printf('01890000-0000-7000-8000-%012x', number), channels.id, number, users.id, 'standard',
       'message ' || number, 1700000000000 + number FROM numbers, channels, users`,
  );
  file.run("UPDATE channels SET last_position = ?", [messages]);
});
afterAll(() => folder[Symbol.dispose]());

beforeEach(async () => {
  database = await freshDatabase();
  sql = new SQL(database.url, { max: 1 });
});
afterEach(async () => {
  await sql.close();
  await database[Symbol.asyncDispose]();
});

/** A copy of the folder of Acme. */
function copyOfAcme(name: string): string {
  const path = join(folder.path, name);
  cpSync(acme, path, { recursive: true });
  return path;
}

const moveTo = (dataDir: string, to: string, ...more: string[]): Promise<Moved> =>
  runJson<Moved>(dataDir, ["move", "--to", to, "--yes", ...more]);

/** Kills a move when part of the messages is copied. */
async function killInTheMiddle(dataDir: string, to: string): Promise<void> {
  await using moving = Bun.spawn([parley, "--data-dir", dataDir, "move", "--to", to, "--yes"], {
    env: { HOME: "/nonexistent" },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  await until("some messages are copied", async () => {
    expect(moving.exitCode).toBeNull();
    const [found] = await sql`SELECT to_regclass('move_progress') IS NOT NULL AS is_there`;
    if (!found.is_there) return false;
    return (await sql`SELECT 1 FROM move_progress WHERE table_name = 'messages'`).length > 0;
  });
  moving.kill("SIGKILL");
  await moving.exited;
}

test("a workspace that was moved is whole in the database, and left here for nobody to use", async () => {
  const dataDir = copyOfAcme("moved");
  const { from, to, rows, digest, tables } = await moveTo(dataDir, database.url);
  expect(from).toBe(dataDir);
  expect(to).toBe(`postgres://127.0.0.1:${new URL(database.url).port}${new URL(database.url).pathname}`);
  expect(tables.find(({ name }) => name === "messages")).toMatchObject({ rows: messages });
  expect(rows).toBeGreaterThan(messages);
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  expect([...(await sql`SELECT body FROM messages WHERE position = ${messages}`)]).toEqual([
    { body: `message ${messages}` },
  ]);
  // Foreign keys and statistics are there again.
  expect(sql`UPDATE messages SET reply_to_id = 'nobody' WHERE position = 1`).rejects.toThrow(/foreign key/);
  expect([
    ...(await sql`SELECT reltuples::integer AS rows FROM pg_class WHERE relname = 'messages'`),
  ]).toEqual([{ rows: messages }]);

  for (const args of [
    ["teams", "list"],
    ["serve", "--port", "0"],
    ["init", "--team", "B", "--owner", "B"],
  ]) {
    const { status, message } = await runRefused(dataDir, args);
    expect(status, args.join(" ")).toBe(3);
    expect(message).toContain(`was moved to ${to} at `);
    expect(message).toContain("Set PARLEY_DATABASE_URL to use it there.");
    expect(message).toContain("parley move --undo");
  }
  expect(await runRefused(dataDir, ["move", "--to", join(folder.path, "elsewhere"), "--yes"])).toMatchObject({
    status: 3,
  });
});

test("a move can be undone: the workspace is used here again, and what waits is held", async () => {
  const dataDir = copyOfAcme("undone");
  const { to } = await moveTo(dataDir, database.url);
  expect(await runJson<object>(dataDir, ["move", "--undo", "--yes"])).toEqual({
    data_dir: dataDir,
    was_at: to,
  });
  const held = await runJson<{ reason: string }>(dataDir, ["deliveries", "held"]);
  expect(held).toMatchObject({ hold: { kind: "older_copy" } });
  expect(JSON.stringify(held)).toContain(`the workspace was in ${to} from `);
  await using server = await startServer({ dataDir });
  expect(await server.stop()).toBe(0);
  expect(await runRefused(dataDir, ["move", "--undo", "--yes"])).toEqual({
    status: 1,
    message: `The workspace in ${dataDir} was not moved, so there is nothing to undo.`,
  });
});

test("killed in the middle, a move leaves the workspace as it was, and goes on from there", async () => {
  const dataDir = copyOfAcme("killed");
  await killInTheMiddle(dataDir, database.url);
  expect(await runJson<object[]>(dataDir, ["teams", "list"])).toMatchObject([{ name: "Acme" }]);
  await using server = await startServer({ dataDir });
  await server.stop();

  const { rows, resumed_rows, tables } = await moveTo(dataDir, database.url);
  expect(resumed_rows).toBeGreaterThan(0);
  expect(resumed_rows).toBeLessThan(rows);
  expect([...(await sql`SELECT count(*)::integer AS rows FROM messages`)]).toEqual([{ rows: messages }]);
  expect(tables.find(({ name }) => name === "messages")).toMatchObject({ rows: messages });
});

test("a workspace that was changed after a move was killed is copied from the beginning", async () => {
  const dataDir = copyOfAcme("changed");
  await killInTheMiddle(dataDir, database.url);
  {
    using file = new SqliteFile(join(dataDir, "parley.db"));
    file.run("UPDATE messages SET body = 'changed' WHERE position = 3");
  }
  expect(await moveTo(dataDir, database.url)).toMatchObject({ resumed_rows: 0 });
  expect([...(await sql`SELECT body FROM messages WHERE position = 3`)]).toEqual([{ body: "changed" }]);
});

test("what a killed move has copied can be dropped, and nothing of it stays", async () => {
  const dataDir = copyOfAcme("discarded");
  await killInTheMiddle(dataDir, database.url);
  const discard = () => runJson<object>(dataDir, ["move", "--to", database.url, "--discard", "--yes"]);
  expect(await discard()).toMatchObject({ dropped: true });
  const left = await sql`SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace`;
  expect([...left]).toEqual([]);
  expect(await discard()).toMatchObject({ dropped: false });
});

test("what was moved from another folder is not gone on with", async () => {
  await killInTheMiddle(copyOfAcme("one"), database.url);
  const { status, message } = await runRefused(copyOfAcme("other"), ["move", "--to", database.url, "--yes"]);
  expect(status).toBe(3);
  expect(message).toContain(`the move from ${join(folder.path, "one")} that began at `);
});

test("a database that has a workspace, or something else, is not touched", async () => {
  await moveTo(copyOfAcme("first"), database.url);
  const before = [...(await sql`SELECT * FROM teams`)];
  const dataDir = copyOfAcme("second");
  const refused = await runRefused(dataDir, ["move", "--to", database.url, "--yes"]);
  expect(refused).toMatchObject({ status: 1 });
  expect(refused.message).toContain("has a workspace already (team acme). Create an empty database");
  expect([...(await sql`SELECT * FROM teams`)]).toEqual(before);
  expect(await runJson<object>(dataDir, ["move", "--to", database.url, "--discard", "--yes"])).toMatchObject({
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
  const dataDir = copyOfAcme("served");
  await using server = await startServer({ dataDir });
  expect(await runRefused(dataDir, ["move", "--to", database.url, "--yes"])).toEqual({
    status: 1,
    message: `Another parley is serving ${dataDir} already. Stop it first.`,
  });
  await server.stop();
});

test("nobody can change the workspace while it is moved", async () => {
  const dataDir = copyOfAcme("locked");
  await using moving = Bun.spawn([parley, "--data-dir", dataDir, "move", "--to", database.url, "--yes"], {
    env: { HOME: "/nonexistent" },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  await until("the move has begun", async () => {
    const [found] = await sql`SELECT to_regclass('move_progress') IS NOT NULL AS is_there`;
    return found.is_there;
  });
  moving.kill("SIGSTOP");
  try {
    const serve = await runRefused(dataDir, ["serve", "--port", "0"]);
    expect(serve.message).toContain("Another parley is serving");
    const create = await runRefused(dataDir, ["teams", "create", "--name", "B"]);
    expect(create.message).toContain("Another process keeps the database locked");
  } finally {
    moving.kill("SIGCONT");
  }
  expect(await moving.exited).toBe(0);
});

test("a connection that is cut ends the move with the reason, and the next one goes on", async () => {
  const dataDir = copyOfAcme("cut");
  const moving = run(dataDir, ["move", "--to", database.url, "--yes", "--json"]);
  await until("some messages are copied", async () => {
    const [found] = await sql`SELECT to_regclass('move_progress') IS NOT NULL AS is_there`;
    if (!found.is_there) return false;
    return (await sql`SELECT 1 FROM move_progress WHERE table_name = 'messages'`).length > 0;
  });
  await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'parley'`;
  const { status, stdout } = await moving;
  expect(status).toBe(1);
  expect((JSON.parse(stdout) as { message: string }).message).toContain("postgres://127.0.0.1:");
  expect(await runJson<object[]>(dataDir, ["teams", "list"])).toHaveLength(1);
  expect((await moveTo(dataDir, database.url)).resumed_rows).toBeGreaterThan(0);
});

test("a database that cannot be reached or refuses the login is named without the password", async () => {
  const dataDir = copyOfAcme("refused");
  const wrong = new URL(database.url);
  wrong.password = "not-the-password";
  for (const [url, reason] of [
    [wrong.href, "password authentication failed"],
    [`${database.url}_none`, "does not exist"],
    ["postgres://parley:not-the-password@127.0.0.1:1/parley", "127.0.0.1:1"],
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

test("without a terminal a move has to be confirmed, and to say where", async () => {
  expect((await runRefused(acme, ["move"])).status).toBe(2);
  expect((await runRefused(acme, ["move", "--to", database.url])).message).toContain("confirm with --yes");
  expect((await runRefused(acme, ["move", "--to", database.url, "--undo"])).status).toBe(2);
  const empty = join(folder.path, "empty");
  expect((await runRefused(empty, ["move", "--to", database.url, "--yes"])).message).toContain(
    "no workspace",
  );
});

test("people see each table with its rows and digest, and what comes next", async () => {
  const { stdout, stderr } = await run(copyOfAcme("shown"), ["move", "--to", database.url, "--yes"]);
  expect(stdout).toMatch(/^TABLE {2,}ROWS {2,}SHA-256\n/);
  expect(stdout).toMatch(/^messages {2,}20,000 {2}[0-9a-f]{16}…$/m);
  expect(stdout).toMatch(/^Moved 20,0\d\d rows from /m);
  expect(stderr).toBe("Next: set PARLEY_DATABASE_URL, then start the server\n");
});
