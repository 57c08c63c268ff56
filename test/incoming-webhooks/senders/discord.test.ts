import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChannelRow } from "../../../src/channels/store.ts";
import { discord } from "../../../src/incoming-webhooks/senders/discord.ts";
import { messageIn } from "../../../src/incoming-webhooks/senders/read-post.ts";
import { type Incoming, startWebhookStage, type WebhookStage } from "../../support/webhook-stage.ts";

const read = (payload: unknown) => messageIn(discord, payload, new Headers());

test("the content, the name and the picture are the message's; mentions stay as they are", () => {
  const avatar = "https://example.com/a.png";
  expect(read({ content: "hi <@1> @here", username: "CI", avatar_url: avatar, tts: true })).toEqual({
    text: "hi <@1> @here",
    username: "CI",
    iconUrl: avatar,
  });
});

test("an embed shows what people see of it, then its links", () => {
  const embed = {
    title: "Build 7 failed",
    url: "https://example.com/7",
    description: "**2** of [120 tests](https://example.com/tests)",
    color: 15_158_332,
    timestamp: "2026-11-23T07:00:00Z",
    author: { name: "mona", url: "https://example.com/mona" },
    fields: [
      { name: "Branch", value: "main", inline: true },
      { name: "\u200B", value: "" },
    ],
    image: { url: "https://example.com/chart.png" },
    thumbnail: { url: "attachment://logo.png" },
    footer: { text: "CI" },
  };
  expect(read({ content: "Look:", embeds: [embed, { description: "another" }] }).text).toBe(`Look:

mona
Build 7 failed
**2** of [120 tests](https://example.com/tests)
Branch: main
\u200B
https://example.com/7
https://example.com/chart.png
CI

another`);
});

test("components show their texts and links", () => {
  const components = [
    {
      type: 17,
      components: [
        { type: 10, content: "# Deployed" },
        { type: 1, components: [{ type: 2, style: 5, label: "Open", url: "https://example.com" }] },
      ],
    },
  ];
  expect(read({ flags: 32_768, components }).text).toBe("# Deployed\nOpen https://example.com");
});

describe("on the server", () => {
  let stage: WebhookStage;
  let channel: ChannelRow;
  let hook: Incoming;
  beforeAll(async () => {
    stage = await startWebhookStage();
    channel = await stage.channel();
    hook = await stage.incoming(channel);
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  async function post(path: string, body: string | FormData, token = hook.token) {
    const address = `${stage.server.url}/webhooks/incoming/${token}/discord${path}`;
    const response = await fetch(address, { method: "POST", body });
    return { status: response.status, body: await response.text() };
  }

  const newest = async () => (await stage.messages(channel))[0];

  test("a post is answered with 204, or with the message for who waits for it", async () => {
    expect(await post("", '{"content":"hello"}')).toEqual({ status: 204, body: "" });
    expect((await newest())?.body).toBe("hello");
    const { status, body } = await post("?wait=true", '{"content":"and you?"}');
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({
      id: (await newest())?.id,
      channel_id: channel.id,
      content: "and you?",
      type: 0,
    });
  });

  test("a post that came to the specified address is told where it belongs", async () => {
    for (const sent of [{ content: "hello" }, { embeds: [{ title: "hello" }] }]) {
      const { status, json } = await stage.send(hook.token, sent);
      expect(status).toBe(422);
      expect(json.message).toEndWith("post it to …/discord.");
    }
  });

  test("a form with a file and the JSON beside it posts the JSON", async () => {
    const form = new FormData();
    form.set("payload_json", JSON.stringify({ embeds: [{ title: "with a file" }] }));
    form.set("files[0]", new Blob(["x"]), "x.txt");
    expect((await post("", form)).status).toBe(204);
    expect((await newest())?.body).toBe("with a file");
  });

  test("the path that Discord's libraries put behind the address of an API posts too", async () => {
    const { status } = await post("/v10/webhooks/1/anything?wait=true", '{"content":"from a library"}');
    expect(status).toBe(200);
    expect((await newest())?.body).toBe("from a library");
    expect((await post("/v10/webhooks/1", "{}")).status).toBe(404);
  });

  test("each error has Discord's status, its code and a message", async () => {
    const coded = async (...args: Parameters<typeof post>) => {
      const { status, body } = await post(...args);
      const { code, message } = JSON.parse(body) as { code: number; message: string };
      expect(message).toBeString();
      return [status, code];
    };
    expect(await coded("", "no JSON")).toEqual([400, 50109]);
    expect(await coded("", '{"content":" "}')).toEqual([400, 50006]);
    expect(await coded("", '{"content":"x"}', "nonsense")).toEqual([404, 10015]);
    expect(await coded("", JSON.stringify({ content: "x".repeat(1024 * 1024) }))).toEqual([413, 40005]);
    const signed = await stage.incoming(channel, { signed: true });
    expect(await coded("", '{"content":"x"}', signed.token)).toEqual([401, 50027]);
  });
});

test("who sends too much is told when to go on, as Discord says it", async () => {
  await using stage = await startWebhookStage({ INTEGRATIONS_INGEST_RATE_LIMIT: "1" });
  const { token } = await stage.incoming(await stage.channel());
  const address = `${stage.server.url}/webhooks/incoming/${token}`;
  const post = (suffix: string) =>
    fetch(address + suffix, { method: "POST", body: '{"content":"x","text":"x"}' });
  expect((await post("/discord")).status).toBe(204);
  const refused = await post("/discord");
  expect(refused.status).toBe(429);
  const { retry_after: delay } = (await refused.json()) as { retry_after: number };
  expect(String(delay)).toBe(refused.headers.get("Retry-After") ?? "");
  const toSlack = await post("/slack");
  expect([toSlack.status, await toSlack.text()]).toEqual([429, "rate_limited"]);
  expect(toSlack.headers.get("Retry-After")).toMatch(/^\d+$/);
});
