import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { revokeToken } from "../../src/tokens/tokens.ts";
import { runJson } from "../support/cli.ts";
import { apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { columnOf } from "../support/data.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";
import { bodyOf, readAll, readPage } from "./feed-reader.ts";

let stage: WebhookStage;

beforeAll(async () => {
  stage = await startWebhookStage();
});

afterAll(async () => {
  await stage[Symbol.asyncDispose]();
});

/** Subscribes to new messages of the channel, at an address where nobody listens. */
async function subscribeTo(channel: { id: string }, input: object = {}) {
  const nobody = { url: "http://127.0.0.1:1/" };
  return await stage.subscribe(nobody, { events: ["message.created"], channel_ids: [channel.id], ...input });
}

describe("the events of a subscription", () => {
  test("are the envelopes that are delivered, in their order, each with a cursor to go on from", async () => {
    const channel = await stage.channel();
    await using listener = await stage.listen({ events: ["message.created"], channel_ids: [channel.id] });
    for (const body of ["one", "two", "three"]) await stage.post(channel, body);
    const delivered = await listener.delivered();
    const { data, meta } = await readPage(stage.api, listener.subscription);
    expect(data.map(bodyOf)).toEqual(["one", "two", "three"]);
    expect(data.map(({ event }) => event).sort(byId)).toEqual([...delivered].sort(byId) as never);
    expect(meta.caught_up).toBe(true);

    const afterFirst = await readPage(stage.api, listener.subscription, { after: data[0]?.cursor });
    expect(afterFirst.data).toEqual(data.slice(1));
    const atEnd = await readPage(stage.api, listener.subscription, { after: meta.next });
    expect(atEnd).toEqual({ data: [], meta });
  });

  test("have the cursors that their deliveries carry, and replays of these", async () => {
    const channel = await stage.channel();
    await using listener = await stage.listen({ events: ["message.created"], channel_ids: [channel.id] });
    await stage.post(channel, "hello");
    await stage.drained(listener.subscription);
    const [attempt] = (await stage.shown(listener.subscription)).deliveries;
    await runJson(stage.dataDir, ["deliveries", "replay", attempt?.id ?? ""], {
      WEBHOOKS_BLOCK_PRIVATE_URLS: "false",
    });
    const [event] = await readAll(stage.api, listener.subscription);
    const carried = listener.receiver.requests.map(({ headers }) => headers.get("x-service-cursor"));
    expect(carried).toEqual([event?.cursor ?? "", event?.cursor ?? ""]);
  });

  test("come in pages of the size that was asked for, and none is missing between two pages", async () => {
    const channel = await stage.channel();
    const subscription = await subscribeTo(channel);
    const bodies = Array.from({ length: 25 }, (_, nth) => `message ${nth}`);
    for (const body of bodies) await stage.post(channel, body);
    for (const limit of [1, 7, 25, 1_000])
      expect((await readAll(stage.api, subscription, { limit })).map(bodyOf)).toEqual(bodies);
  });

  test("are those of its types and channels, from its creation on", async () => {
    const [channel, other] = [await stage.channel(), await stage.channel()];
    await using _everything = await stage.listen();
    await stage.post(channel, "before");
    const subscription = await subscribeTo(channel, { events: ["message.updated"] });
    const { id } = await stage.post(channel, "first");
    await stage.api.patch(`/channels/${channel.id}/messages/${id}`, { body: "edited" });
    const elsewhere = await stage.post(other, "elsewhere");
    await stage.api.patch(`/channels/${other.id}/messages/${elsewhere.id}`, { body: "edited elsewhere" });
    expect((await readAll(stage.api, subscription)).map(bodyOf)).toEqual(["edited"]);
  });

  test("are those of its team alone, also where it wants those of every channel", async () => {
    const { workspace } = stage;
    const others = await workspace.team("Others");
    const { token } = await workspace.token(others.owner);
    const api = apiClient(stage.server.url, token);
    const answer = await api.post<{ data: { id: string } }>("/webhooks", {
      name: "theirs",
      url: "http://127.0.0.1:1/",
      events: ["message.created"],
    });
    await using _ours = await stage.listen();
    await stage.post(await stage.channel(), "ours");
    await api.post(`/channels/${others.general.id}/messages`, { body: "theirs" });
    expect((await readAll(api, answer.json.data)).map(bodyOf)).toEqual(["theirs"]);
    expect((await stage.api.get(`/webhooks/${answer.json.data.id}/events`)).status).toBe(404);
  });

  test("are there while it is disabled, and after they were dropped from the queue", async () => {
    const channel = await stage.channel();
    const subscription = await subscribeTo(channel);
    await stage.disable(subscription);
    await stage.post(channel, "while disabled");
    expect((await readAll(stage.api, subscription)).map(bodyOf)).toEqual(["while disabled"]);
    await stage.enable(subscription, true);
    expect((await readAll(stage.api, subscription)).map(bodyOf)).toEqual(["while disabled"]);
  });

  test("move the cursor on, page by page, where hardly any of very many is for it", async () => {
    const [busy, quiet] = [await stage.channel(), await stage.channel()];
    await using _everything = await stage.listen({ channel_ids: [busy.id] });
    const subscription = await subscribeTo(quiet);
    const author = stage.team.owner;
    for (let posted = 0; posted < 10_500; posted += 500) {
      await Promise.all(Array.from({ length: 500 }, () => stage.workspace.message(busy, author)));
    }
    await stage.post(quiet, "found");
    const first = await readPage(stage.api, subscription);
    expect(first).toMatchObject({ data: [], meta: { caught_up: false } });
    const second = await readPage(stage.api, subscription, { after: first.meta.next });
    expect(second.data.map(bodyOf)).toEqual(["found"]);
    expect(second.meta.caught_up).toBe(true);
  }, 60_000);
});

describe("a request that waits", () => {
  test("is answered with the event when it happens", async () => {
    const channel = await stage.channel();
    const subscription = await subscribeTo(channel);
    const { meta } = await readPage(stage.api, subscription);
    const waiting = readPage(stage.api, subscription, { after: meta.next, wait: 50 });
    await stage.post(channel, "at last");
    expect((await waiting).data.map(bodyOf)).toEqual(["at last"]);
  });

  test("sleeps through the events of others", async () => {
    const [channel, other] = [await stage.channel(), await stage.channel()];
    const subscription = await subscribeTo(channel);
    await using _everything = await stage.listen({ channel_ids: [other.id] });
    const waiting = readPage(stage.api, subscription, { wait: 50 });
    await stage.post(other, "for others");
    await stage.post(channel, "for it");
    expect((await waiting).data.map(bodyOf)).toEqual(["for it"]);
  });

  test("is answered with the event that another process commits", async () => {
    const channel = await stage.channel();
    const subscription = await subscribeTo(channel);
    const waiting = readPage(stage.api, subscription, { wait: 50 });
    await stage.workspace.message(channel, stage.team.owner, "by a command");
    expect((await waiting).data.map(bodyOf)).toEqual(["by a command"]);
  });

  test("is answered without events when its time is over", async () => {
    const subscription = await subscribeTo(await stage.channel());
    const { data, meta } = await readPage(stage.api, subscription, { wait: 1 });
    expect({ data, caughtUp: meta.caught_up }).toEqual({ data: [], caughtUp: true });
  });

  test("is answered when the server stops, and goes on after its start", async () => {
    await using own = await startWebhookStage();
    const channel = await own.channel();
    const subscription = await own.subscribe({ url: "http://127.0.0.1:1/" }, { channel_ids: [channel.id] });
    await own.post(channel, "before");
    const { meta } = await readPage(own.api, subscription);
    const waiting = readPage(own.api, subscription, { after: meta.next, wait: 50 });
    // One that is answered at once shows that the one before it was taken.
    await readPage(own.api, subscription);
    await own.stop();
    const { data, meta: then } = await waiting;
    expect(data).toEqual([]);
    await own.restart();
    await own.post(channel, "after");
    expect((await readAll(own.api, subscription, { after: then.next })).map(bodyOf)).toEqual(["after"]);
  });

  test("is refused when its token is revoked meanwhile", async () => {
    const channel = await stage.channel();
    const subscription = await subscribeTo(channel);
    const { id, token } = await stage.workspace.token(stage.team.owner);
    const waiting = apiClient(stage.server.url, token).get(`/webhooks/${subscription.id}/events?wait=50`);
    const used = "SELECT count(last_used_at) FROM tokens WHERE id = ?";
    await until("it has come in", async () => (await columnOf(stage.dataDir, used, id))[0] === 1);
    await stage.database.write((tx) => revokeToken(tx, stage.team.id, id, "cli:test"));
    await stage.post(channel, "not for it");
    expect((await waiting).status).toBe(401);
  });

  test("is one of twenty of its token at most", async () => {
    const subscription = await subscribeTo(await stage.channel());
    const { token } = await stage.workspace.token(stage.team.owner);
    const api = apiClient(stage.server.url, token);
    const left = new AbortController();
    const path = `${stage.server.url}/api/v1/webhooks/${subscription.id}/events?wait=50`;
    const statuses: number[] = [];
    const headers = { authorization: `Bearer ${token}` };
    const sent = Array.from({ length: 22 }, async () => {
      const answer = await fetch(path, { headers, signal: left.signal }).catch(() => undefined);
      if (answer) statuses.push(answer.status);
    });
    await until("two of them are refused", () => statuses.length === 2);
    const more = () => api.get(`/webhooks/${subscription.id}/events?wait=1`);
    const refusal = await more();
    expect([...statuses, refusal.status]).toEqual([429, 429, 429]);
    expect(refusal.json.message).toContain("20 requests");
    // Clients that go away make room.
    left.abort();
    await Promise.all(sent);
    await until("there is room again", async () => (await more()).status === 200);
  });
});

function byId(one: { id: string }, other: { id: string }): number {
  return one.id < other.id ? -1 : 1;
}
