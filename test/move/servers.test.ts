import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { run } from "../support/cli.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { openWorkspace } from "../support/workspace.ts";
import { MoveStage, moveTo } from "./stage.ts";

/** A workspace that is moved is served in one place at a time, and delivers from there. */

let stage: MoveStage;

beforeAll(async () => {
  stage = await MoveStage.start();
});
beforeEach(() => stage.nextDatabase());
afterAll(() => stage[Symbol.asyncDispose]());

/** Settings with which a failed delivery is soon tried again, and as often as it takes. */
const settings = {
  WEBHOOKS_BLOCK_PRIVATE_URLS: "false",
  WEBHOOKS_BACKOFF_BASE: "0.05",
  WEBHOOKS_MAX_ATTEMPTS: "100",
  WEBHOOKS_DISABLE_AFTER: "100000",
};

type Poster = { token: string; channel: string };

/** A token of a bot in a channel of a new team, and the channel's id. */
async function makePoster(dataDir: string): Promise<Poster> {
  await using workspace = await openWorkspace(dataDir);
  const { id, general } = await workspace.team("Beta");
  const { token } = await workspace.token(await workspace.bot(id, "CI", [general]));
  return { token, channel: general.id };
}

async function ask({ url }: TestServer, { token }: Poster, path: string, body: object): Promise<number> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  return response.status;
}

const post = (server: TestServer, poster: Poster) =>
  ask(server, poster, `/channels/${poster.channel}/messages`, { body: "hello" });

const subscribe = (server: TestServer, poster: Poster, url: string) =>
  ask(server, poster, "/webhooks", { name: "CI", url, events: ["message.created"] });

const holdsOf = (server: TestServer) => server.logLines().filter((line) => line.includes("deliveries.held"));

test("what waits to be delivered goes to PostgreSQL with the workspace, and is not held", async () => {
  const dataDir = stage.copyOfAcme("delivering");
  await using receiver = startReceiver(() => new Response(null, { status: 503 }));
  const poster = await makePoster(dataDir);
  {
    await using server = await startServer({ dataDir, environment: settings });
    expect(await subscribe(server, poster, receiver.url)).toBe(201);
    expect(await post(server, poster)).toBe(201);
    await receiver.received(1);
    await server.stop();
  }
  await moveTo(dataDir, stage.url);
  const failed = receiver.requests.length;
  receiver.answer = () => new Response();

  await using server = await startServer({
    dataDir,
    environment: { ...settings, PARLEY_DATABASE_URL: stage.url },
  });
  const delivered = await receiver.nth(failed + 1);
  expect(delivered.headers.get("webhook-id")).toBe(receiver.requests[0]?.headers.get("webhook-id") ?? "");
  expect(await post(server, poster)).toBe(201);
  await receiver.received(failed + 2);
  expect(receiver.requests).toHaveLength(failed + 2);
  expect(holdsOf(server)).toEqual([]);
});

test("a workspace that was delivered from on PostgreSQL goes on in a folder, and is not held", async () => {
  const dataDir = stage.copyOfAcme("returning");
  await using receiver = startReceiver();
  const poster = await makePoster(dataDir);
  await moveTo(dataDir, stage.url);
  const environment = { ...settings, PARLEY_DATABASE_URL: stage.url };
  {
    await using server = await startServer({ dataDir, environment });
    expect(await subscribe(server, poster, receiver.url)).toBe(201);
    expect(await post(server, poster)).toBe(201);
    await receiver.received(1);
    await server.stop();
  }
  const back = stage.path("returned");
  expect(await run(dataDir, ["move", "--to", back, "--yes"], environment)).toMatchObject({ status: 0 });
  await using server = await startServer({ dataDir: back, environment: settings });
  expect(await post(server, poster)).toBe(201);
  await receiver.received(2);
  expect(receiver.requests).toHaveLength(2);
  expect(holdsOf(server)).toEqual([]);
});

test("a workspace on PostgreSQL is not moved while a server has it", async () => {
  const dataDir = stage.copyOfAcme("served-on-postgres");
  const { to } = await moveTo(dataDir, stage.url);
  const environment = { PARLEY_DATABASE_URL: stage.url };
  await using server = await startServer({ dataDir, environment });
  const move = () => run(dataDir, ["move", "--to", stage.path("later"), "--yes", "--json"], environment);
  const { status, stdout } = await move();
  expect(status).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    message: `A parley is serving the workspace in ${to}, or moving it. Stop every node of it first.`,
  });
  await server.stop();
  expect(await move()).toMatchObject({ status: 0 });
});

test("a server that was cut off while its workspace was moved ends by itself, and has changed nothing", async () => {
  const dataDir = stage.copyOfAcme("cut-off");
  const poster = await makePoster(dataDir);
  await moveTo(dataDir, stage.url);
  const environment = { PARLEY_DATABASE_URL: stage.url };
  await using server = await startServer({ dataDir, environment });
  expect(await post(server, poster)).toBe(201);
  process.kill(server.pid, "SIGSTOP");
  await stage.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`;
  const there = stage.path("cut-off-there");
  expect(await run(dataDir, ["move", "--to", there, "--yes"], environment)).toMatchObject({ status: 0 });
  process.kill(server.pid, "SIGCONT");
  expect(await post(server, poster).catch(() => "closed")).not.toBe(201);
  expect(await server.ended()).toBe(3);
  const line = await server.logLine(({ msg }) => msg === "server.outdated");
  expect(line.reason).toContain(`was moved to ${there} at `);
  expect([...(await stage.sql`SELECT 1 FROM messages WHERE body = 'hello'`)]).toHaveLength(1);
});
