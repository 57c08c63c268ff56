import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { selectHeldShards } from "../../src/nodes/store.ts";
import { revokeToken } from "../../src/tokens/tokens.ts";
import { until } from "../support/conditions.ts";
import { apiClient } from "../support/client.ts";
import { type NodesStage, startNodes } from "../support/nodes.ts";
import { type Receiver, startReceiver } from "../support/receivers/receiver.ts";
import { actor } from "../support/workspace.ts";

test("an event posted to any node is delivered once, whichever node owns the subscription", async () => {
  await using stage = await startNodes(3);
  await until("all nodes own a part", async () => (await nodesThatOwn(stage)) === 3);
  const receivers = Array.from({ length: 6 }, () => startReceiver());
  for (const { url } of receivers) await stage.subscribe(url);
  const bodies = Array.from({ length: 30 }, (_, n) => `message ${n}`);
  await Promise.all(bodies.map((body, n) => post(stage, n % 3, body)));
  await until("nothing is queued", async () => (await queued(stage)) === 0);
  for (const receiver of receivers) {
    expect(bodiesOf(receiver).sort()).toEqual([...bodies].sort());
    await receiver[Symbol.asyncDispose]();
  }
});

test("the deliveries of a node that is killed go on elsewhere", async () => {
  await using stage = await startNodes(3);
  await until("all nodes own a part", async () => (await nodesThatOwn(stage)) === 3);
  const receivers = Array.from({ length: 6 }, () => startReceiver());
  for (const { url } of receivers) await stage.subscribe(url);
  const bodies = Array.from({ length: 40 }, (_, n) => `message ${n}`);
  const posting = Promise.all(bodies.slice(0, 20).map((body, n) => post(stage, n % 2, body)));
  await stage.nodes[2]?.kill9();
  await posting;
  await Promise.all(bodies.slice(20).map((body, n) => post(stage, n % 2, body)));
  await until("nothing is queued", async () => (await queued(stage)) === 0);
  for (const receiver of receivers) {
    // What was in flight when the node was killed may come again.
    expect([...new Set(bodiesOf(receiver))].sort()).toEqual([...bodies].sort());
    await receiver[Symbol.asyncDispose]();
  }
});

test("a node that is stopped hands over without repeating anything, and one that is added takes its share", async () => {
  await using stage = await startNodes(2);
  await until("both own a part", async () => (await nodesThatOwn(stage)) === 2);
  const receivers = Array.from({ length: 6 }, () => startReceiver());
  for (const { url } of receivers) await stage.subscribe(url);
  const bodies = Array.from({ length: 60 }, (_, n) => `message ${n}`);
  const posting = (async () => {
    for (const body of bodies) await post(stage, 0, body);
  })();
  await stage.add();
  await until("all nodes own a part", async () => (await nodesThatOwn(stage)) === 3);
  expect(await stage.nodes[1]?.stop()).toBe(0);
  await posting;
  await until("nothing is queued", async () => (await queued(stage)) === 0);
  for (const receiver of receivers) {
    expect(bodiesOf(receiver).sort()).toEqual([...bodies].sort());
    await receiver[Symbol.asyncDispose]();
  }
});

test("a token that is revoked on one node a hundred times under load is refused by all from then on", async () => {
  await using stage = await startNodes(3);
  const { team, workspace, nodes } = stage;
  const bot = await workspace.bot(team.id, "bot", [team.general]);
  let isOver = false;
  const load = nodes.map(async (_, n) => {
    while (!isOver) await post(stage, n, "load");
  });
  for (let time = 0; time < 100; time++) {
    const { id, token } = await workspace.token(bot);
    const clients = nodes.map(({ url }) => apiClient(url, token));
    for (const client of clients) expect((await client.get("/channels")).status).toBe(200);
    await workspace.database.write((tx) => revokeToken(tx, team.id, id, actor));
    const message = { body: "too late" };
    const answers = await Promise.all(
      clients.flatMap((client) => [
        client.get("/channels"),
        client.post(`/channels/${team.general.id}/messages`, message),
      ]),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 401));
  }
  isOver = true;
  await Promise.all(load);
});

test("of a hundred requests to three nodes at once a token may make exactly sixty", async () => {
  await using stage = await startNodes(3, { INTEGRATIONS_API_RATE_LIMIT: "60" });
  const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => stage.api(n % 3).get("/channels")));
  const allowed = answers.filter(({ status }) => status === 200);
  expect(allowed.length).toBe(60);
  const numberIn = (name: string) => (answer: (typeof answers)[number]) => Number(answer.headers.get(name));
  const left = allowed.map(numberIn("x-ratelimit-remaining"));
  expect(left.sort((a, b) => b - a)).toEqual(Array.from({ length: 60 }, (_, n) => 59 - n));
  expect(new Set(answers.map(numberIn("x-ratelimit-reset"))).size).toBe(1);
  for (const refused of answers.filter(({ status }) => status !== 200)) {
    expect(refused.status).toBe(429);
    expect(numberIn("x-ratelimit-remaining")(refused)).toBe(0);
    expect(numberIn("retry-after")(refused)).toBeGreaterThan(0);
  }
});

test("a request counts once, also when another node has just changed what the first one remembers", async () => {
  await using stage = await startNodes(2);
  const { team, workspace } = stage;
  const { token } = await workspace.token(await workspace.bot(team.id, "bot", [team.general]));
  const bot = apiClient(stage.nodes[0]?.url ?? "", token);
  const left: number[] = [];
  for (let n = 0; n < 10; n++) {
    const changed = await stage.api(1).post("/channels", { name: `channel-${n}`, visibility: "public" });
    expect(changed.status).toBe(201);
    const answer = await bot.get("/channels");
    expect(answer.status).toBe(200);
    left.push(Number(answer.headers.get("x-ratelimit-remaining")));
  }
  expect(left).toEqual(Array.from({ length: 10 }, (_, n) => left[0]! - n));
});

async function post(stage: NodesStage, node: number, body: string): Promise<void> {
  const answer = await stage.api(node).post(`/channels/${stage.team.general.id}/messages`, { body });
  expect(answer.status).toBe(201);
}

async function queued(stage: NodesStage): Promise<number> {
  return (await stage.database.ask((db) => db.all(sql`SELECT event_seq FROM jobs`))).length;
}

async function nodesThatOwn(stage: NodesStage): Promise<number> {
  const held = await selectHeldShards(stage.database.connections);
  return new Set(held.map(({ node }) => node)).size;
}

function bodiesOf({ requests }: Receiver): string[] {
  return requests.map(({ text }) => (JSON.parse(text) as { data: { body: string } }).data.body);
}
