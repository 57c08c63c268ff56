import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { run, runJson } from "../support/cli.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { startServer, type TestServer } from "../support/server.ts";
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

/** A token of a bot in #general, and the channel's id. */
async function makePoster(dataDir: string): Promise<{ token: string; channel: string }> {
  await runJson(dataDir, ["bots", "create", "--name", "CI", "--channel", "general"]);
  const { token } = await runJson<{ token: string }>(dataDir, [
    "tokens",
    "create",
    "--bot",
    "CI",
    "--all-scopes",
  ]);
  const { id } = await runJson<{ id: string }>(dataDir, ["channels", "show", "general"]);
  return { token, channel: id };
}

async function post(
  { url }: TestServer,
  { token, channel }: { token: string; channel: string },
): Promise<number> {
  const response = await fetch(`${url}/api/v1/channels/${channel}/messages`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}` },
    body: JSON.stringify({ body: "hello" }),
  });
  return response.status;
}

test("what waits to be delivered goes with the workspace, and is not held", async () => {
  const dataDir = stage.copyOfAcme("delivering");
  await using receiver = startReceiver(() => new Response(null, { status: 503 }));
  const poster = await makePoster(dataDir);
  const hook = ["--name", "CI", "--url", receiver.url, "--event", "message.created"];
  await run(dataDir, ["webhooks", "create", ...hook], settings);
  {
    await using server = await startServer({ dataDir, environment: settings });
    expect(await post(server, poster)).toBe(201);
    await receiver.received(1);
    await server.stop();
  }
  await moveTo(dataDir, stage.url);
  const failed = receiver.requests.length;
  receiver.answer = () => new Response();

  const environment = { ...settings, PARLEY_DATABASE_URL: stage.url };
  {
    await using server = await startServer({ dataDir, environment });
    const delivered = await receiver.nth(failed + 1);
    expect(delivered.headers.get("webhook-id")).toBe(receiver.requests[0]?.headers.get("webhook-id") ?? "");
    expect(await post(server, poster)).toBe(201);
    await receiver.received(failed + 2);
    expect(server.logLines().filter((line) => line.includes("deliveries.held"))).toEqual([]);
    await server.stop();
  }

  const back = stage.path("delivering-back");
  expect(await run(dataDir, ["move", "--to", back, "--yes"], environment)).toMatchObject({ status: 0 });
  await using server = await startServer({ dataDir: back, environment: settings });
  expect(await post(server, poster)).toBe(201);
  await receiver.received(failed + 3);
  expect(server.logLines().filter((line) => line.includes("deliveries.held"))).toEqual([]);
  expect(receiver.requests).toHaveLength(failed + 3);
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
