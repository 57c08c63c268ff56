import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { Database as SqliteFile } from "bun:sqlite";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTerminal, run, runJson, runRefused } from "../support/cli.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { startServer } from "../support/server.ts";
import { messages, type Moved, MoveStage, moveTo } from "./stage.ts";

let stage: MoveStage;

beforeAll(async () => {
  stage = await MoveStage.start();
});
beforeEach(() => stage.nextDatabase());
afterAll(() => stage[Symbol.asyncDispose]());

test("a workspace that was moved is whole in the database, and left here for nobody to use", async () => {
  const dataDir = stage.copyOfAcme("moved");
  const { from, to, rows, digest, tables } = await moveTo(dataDir, stage.url);
  expect(from).toBe(dataDir);
  expect(to).toBe(`postgres://127.0.0.1:${new URL(stage.url).port}${new URL(stage.url).pathname}`);
  expect(tables.find(({ name }) => name === "messages")).toMatchObject({ rows: messages });
  expect(rows).toBeGreaterThan(messages);
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  expect([...(await stage.sql`SELECT body FROM messages WHERE position = ${messages}`)]).toEqual([
    { body: `message ${messages}` },
  ]);
  // Foreign keys and statistics are there again.
  expect(stage.sql`UPDATE messages SET reply_to_id = 'nobody' WHERE position = 1`).rejects.toThrow(
    /foreign key/,
  );
  expect([
    ...(await stage.sql`SELECT reltuples::integer AS rows FROM pg_class WHERE relname = 'messages'`),
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
  expect(await runRefused(dataDir, ["move", "--to", stage.path("elsewhere"), "--yes"])).toMatchObject({
    status: 3,
  });
});

test("nothing is written any more where a workspace was, in a folder or on PostgreSQL", async () => {
  const dataDir = stage.copyOfAcme("left");
  // As a command or a server that had it open before.
  using file = new SqliteFile(join(dataDir, "parley.db"));
  expect(file.query("SELECT count(*) AS teams FROM teams").get()).toEqual({ teams: 1 });
  await moveTo(dataDir, stage.url);
  expect(() => file.run("UPDATE teams SET name = 'B'")).toThrow(
    "The workspace was moved elsewhere. Nothing was saved.",
  );

  const environment = { PARLEY_DATABASE_URL: stage.url };
  const there = stage.path("left-for");
  expect(await run(dataDir, ["move", "--to", there, "--yes"], environment)).toMatchObject({ status: 0 });
  expect(stage.sql`UPDATE teams SET name = 'B'`).rejects.toThrow(
    "The workspace was moved elsewhere. Nothing was saved.",
  );
  const moved = `The workspace in the database of PARLEY_DATABASE_URL was moved to ${there} at `;
  for (const args of [
    ["teams", "list"],
    ["init", "--team", "B", "--owner", "B"],
  ]) {
    const { status, stdout } = await run(dataDir, [...args, "--json"], environment);
    expect(status, stdout).toBe(3);
    expect(stdout).toContain(moved);
  }
  const examined = await run(dataDir, ["doctor", "--json"], environment);
  expect(examined.stdout).toContain(moved);
});

test("a move can be undone: the workspace is used here again, and what waits is held", async () => {
  const dataDir = stage.copyOfAcme("undone");
  const { to } = await moveTo(dataDir, stage.url);
  expect(await runJson<object>(dataDir, ["move", "--undo", "--yes"])).toEqual({ place: dataDir, was_at: to });
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

test("the headers of a subscription go along, and are sent from there", async () => {
  await using receiver = startReceiver();
  const dataDir = stage.copyOfAcme("headers");
  writeFileSync(join(dataDir, "parley.toml"), "webhooks_block_private_urls = false\n");
  const create = ["webhooks", "create", "--name", "CI", "--url", receiver.url, "--event", "message.created"];
  await runJson(dataDir, [...create, "--header", "X-Api-Key: of the folder"]);
  await moveTo(dataDir, stage.url);
  const environment = { PARLEY_DATABASE_URL: stage.url };
  await runJson(dataDir, ["webhooks", "ping", "CI"], environment);
  const edit = ["webhooks", "edit", "CI", "--header", "X-Api-Key: of PostgreSQL"];
  await runJson(dataDir, edit, environment);
  const back = stage.path("headers-back");
  await runJson(dataDir, ["move", "--to", back, "--yes"], environment);
  writeFileSync(join(back, "parley.toml"), "webhooks_block_private_urls = false\n");
  await runJson(back, ["webhooks", "ping", "CI"]);
  expect(receiver.requests.map(({ headers }) => headers.get("x-api-key"))).toEqual([
    "of the folder",
    "of PostgreSQL",
  ]);
});

test("moved back to a folder, a workspace is as it was, with its key", async () => {
  const dataDir = stage.copyOfAcme("there");
  await runJson(dataDir, ["bots", "create", "--name", "CI", "--channel", "general"]);
  await runJson(dataDir, ["incoming-webhooks", "create", "--bot", "CI", "--channel", "general", "--signed"]);
  const there = await moveTo(dataDir, stage.url);
  const back = stage.path("back");
  const environment = { PARLEY_DATABASE_URL: stage.url };
  const moved = await run(dataDir, ["move", "--to", back, "--yes", "--json"], environment);
  expect(moved.status, moved.stdout).toBe(0);
  const { from, to, digest, tables } = (JSON.parse(moved.stdout) as { data: Moved }).data;
  expect({ from, to, digest, tables }).toEqual({
    from: there.to,
    to: back,
    digest: there.digest,
    tables: there.tables,
  });

  expect(readFileSync(join(back, "secret.key"), "utf8")).toBe(
    readFileSync(join(stage.acme, "secret.key"), "utf8"),
  );
  const [webhook] = await runJson<Array<{ id: string }>>(back, ["incoming-webhooks", "list"]);
  await runJson(back, ["incoming-webhooks", "rotate-secret", webhook?.id ?? "", "--yes"]);
  // Where it came from says so, and can be used again.
  const refused = await run(dataDir, ["move", "--to", stage.path("third"), "--yes", "--json"], environment);
  expect(refused).toMatchObject({ status: 3 });
  expect(refused.stdout).toContain(`was moved to ${back} at `);
  const undone = await run(dataDir, ["move", "--undo", "--yes", "--json"], environment);
  expect(JSON.parse(undone.stdout)).toEqual({ data: { place: there.to, was_at: back } });
  expect([...(await stage.sql`SELECT kind FROM delivery_hold`)]).toEqual([{ kind: "older_copy" }]);
});

test("a URL can be read from a file", async () => {
  const file = stage.path("url");
  writeFileSync(file, `${stage.url}\n`);
  const moved = await runJson<Moved>(stage.copyOfAcme("by-file"), ["move", "--to-file", file, "--yes"]);
  expect(moved.rows).toBeGreaterThan(messages);
});

test("on a terminal a move asks first and shows how far it is", async () => {
  await using screen = onTerminal(stage.copyOfAcme("asked"), ["move", "--to", stage.url]);
  await screen.shows("Move the workspace in");
  screen.type("y");
  await screen.shows("Copying ");
  await screen.shows("Moved 5,0");
  expect(await screen.ended()).toBe(0);
  const lines = screen.text.split(/[\r\n]+/).filter((line) => /^(Copying|Checking) /.test(line));
  for (const line of lines) {
    expect(line).toMatch(
      /^(Copying|Checking) \w+: [\d,]+ of [\d,]+ \(\d+%\)(, [\d,]+\/s(, \d+ \w+ left)?)?$/,
    );
    expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
  }
});

test("doctor says where a workspace is that has left", async () => {
  const dataDir = stage.copyOfAcme("examined");
  const { to } = await moveTo(dataDir, stage.url);
  const { status, stdout } = await run(dataDir, ["doctor", "--json"]);
  expect(status).toBe(1);
  const { data } = JSON.parse(stdout) as { data: Array<{ check: string; state: string; found: string }> };
  expect(data.find(({ check }) => check === "workspace")).toMatchObject({
    state: "failed",
    found: expect.stringContaining(`was moved to ${to} at `) as string,
  });
});

test("without a terminal a move has to be confirmed, and to say where", async () => {
  expect((await runRefused(stage.acme, ["move"])).status).toBe(2);
  expect((await runRefused(stage.acme, ["move", "--to", stage.url])).message).toContain("confirm with --yes");
  expect((await runRefused(stage.acme, ["move", "--to", stage.url, "--undo"])).status).toBe(2);
  const empty = stage.path("empty");
  expect((await runRefused(empty, ["move", "--to", stage.url, "--yes"])).message).toContain("no workspace");
});

test("people see each table with its rows and digest, and what comes next", async () => {
  const { stdout, stderr } = await run(stage.copyOfAcme("shown"), ["move", "--to", stage.url, "--yes"]);
  expect(stdout).toMatch(/^TABLE {2,}ROWS {2,}SHA-256\n/);
  expect(stdout).toMatch(/^messages {2,}5,000 {2}[0-9a-f]{16}…$/m);
  expect(stdout).toMatch(/^Moved 5,0\d\d rows from /m);
  expect(stderr).toBe("Next: set PARLEY_DATABASE_URL, then start the server\n");
});
