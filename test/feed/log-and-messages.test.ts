import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { DeliveryPage } from "../../src/deliveries/attempt-pages.ts";
import type { MessagePage } from "../../src/messages/schemas.ts";
import { apiClient } from "../support/client.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

let stage: WebhookStage;

beforeAll(async () => {
  stage = await startWebhookStage();
});

afterAll(async () => {
  await stage[Symbol.asyncDispose]();
});

describe("the delivery log of a subscription", () => {
  test("is read page by page, newest first, each attempt once", async () => {
    const channel = await stage.channel();
    await using listener = await stage.listen({ events: ["message.created"], channel_ids: [channel.id] });
    await using _other = await stage.listen({ events: ["message.created"] });
    for (let nth = 0; nth < 7; nth++) await stage.post(channel);
    await stage.drained(listener.subscription);
    const { deliveries } = await stage.shown(listener.subscription);
    expect(deliveries).toHaveLength(7);
    const path = `/webhooks/${listener.subscription.id}/deliveries?limit=3`;
    const read: DeliveryPage["data"] = [];
    const sizes: number[] = [];
    for (let next: string | null = ""; next !== null;) {
      const page: { json: DeliveryPage } = await stage.api.get<DeliveryPage>(
        next === "" ? path : `${path}&after=${next}`,
      );
      read.push(...page.json.data);
      sizes.push(page.json.data.length);
      next = page.json.meta.next;
    }
    expect(sizes).toEqual([3, 3, 1]);
    expect(read).toEqual(deliveries);
  });

  test("needs webhooks:read, and a cursor of its own", async () => {
    const subscription = await stage.subscribe({ url: "http://127.0.0.1:1/" });
    const path = `/webhooks/${subscription.id}/deliveries`;
    const { token } = await stage.workspace.token(stage.team.owner, "webhooks:write");
    expect((await apiClient(stage.server.url, token).get(path)).status).toBe(403);
    for (const [query, field] of [
      ["after=%20", "after"],
      ["after=zzzzzzzzzzzz", "after"],
      ["limit=0", "limit"],
      ["limit=201", "limit"],
    ])
      expect((await stage.api.get(`${path}?${query}`)).json.errors).toHaveProperty(field ?? "");
  });
});

describe("the messages after a message", () => {
  test("come oldest first, fifty at a time, to the newest", async () => {
    const channel = await stage.channel();
    const ids: string[] = [];
    for (let nth = 0; nth < 60; nth++) ids.push((await stage.post(channel, `message ${nth}`)).id);
    const path = `/channels/${channel.id}/messages`;
    const pageAfter = async (id = "") => (await stage.api.get<MessagePage>(`${path}?after=${id}`)).json;
    const first = await pageAfter(ids[4]);
    expect(first.data.map(({ id }) => id)).toEqual(ids.slice(5, 55));
    expect(first.meta).toMatchObject({ from: 1, to: 50, total: 55, last_page: 2 });
    expect(first.links.next).toEndWith(`${path}?after=${ids[54]}`);
    const second = await pageAfter(ids[54]);
    expect(second.data.map(({ id }) => id)).toEqual(ids.slice(55));
    expect(second.links.next).toBeNull();
    expect(await pageAfter(ids[59])).toMatchObject({ data: [], meta: { from: null, to: null, total: 0 } });
  });

  test("are refused after what is no message of the channel, and together with a page", async () => {
    const [channel, other] = [await stage.channel(), await stage.channel()];
    const { id } = await stage.post(other);
    const own = await stage.post(channel);
    const refusal = async (query: string) => {
      const answer = await stage.api.get(`/channels/${channel.id}/messages?${query}`);
      expect(answer.status, query).toBe(422);
      expect(answer.json.errors, query).toHaveProperty("after");
      return answer.text;
    };
    // One of another channel is refused as one that there is not.
    expect(await refusal(`after=${id}`)).toBe(await refusal(`after=${Bun.randomUUIDv7()}`));
    await refusal("after=1");
    await refusal(`after=${own.id}&page=1`);
  });
});
