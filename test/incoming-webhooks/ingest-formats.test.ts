import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { IncomingWebhook } from "@slack/webhook";
import type { ChannelRow } from "../../src/channels/store.ts";
import { type Incoming, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

let stage: WebhookStage;
let channel: ChannelRow;
let hook: Incoming;
beforeAll(async () => {
  stage = await startWebhookStage();
  channel = await stage.channel();
  hook = await stage.incoming(channel);
});
afterAll(() => stage[Symbol.asyncDispose]());

const addressOf = ({ token }: Incoming) => `${stage.server.url}/webhooks/incoming/${token}`;
const form = "application/x-www-form-urlencoded";

async function newestBody(): Promise<string | undefined> {
  return (await stage.messages(channel))[0]?.body;
}

describe("JSON is accepted under the content type", () => {
  test.each([
    "application/json",
    "application/json; charset=utf-8",
    "APPLICATION/JSON",
    "text/plain",
    "text/plain;charset=UTF-8",
    form,
    "application/octet-stream",
    "application/vnd.example+json",
    "multipart/form-data; boundary=x",
    "nonsense",
  ])("%s", async (type) => {
    const { status } = await stage.send(
      hook.token,
      { text: `1 + 1 = 2 & ${type}` },
      { "content-type": type },
    );
    expect(status).toBe(202);
    expect(await newestBody()).toBe(`1 + 1 = 2 & ${type}`);
  });

  test("of none at all", async () => {
    const body = new Blob([JSON.stringify({ text: "no type" })]);
    const response = await fetch(addressOf(hook), { method: "POST", body });
    expect(response.status).toBe(202);
    expect(await newestBody()).toBe("no type");
  });
});

test("curl -d posts, with the content type that it chooses", async () => {
  const child = Bun.spawn([
    "curl",
    "-s",
    "-w",
    "%{http_code}",
    "-d",
    '{"text":"50 % done & more"}',
    addressOf(hook),
  ]);
  expect(await child.stdout.text()).toBe("202");
  expect(await newestBody()).toBe("50 % done & more");
});

test("Slack's own client posts unmodified", async () => {
  const client = new IncomingWebhook(addressOf(hook), { username: "Deployer", icon_emoji: ":rocket:" });
  expect(await client.send("from Slack's client")).toEqual({ text: "" });
  expect(await newestBody()).toBe("from Slack's client");
  await client.send({ text: "with blocks", blocks: [{ type: "divider" }], attachments: [{ fallback: "x" }] });
  expect((await stage.messages(channel))[0]).toMatchObject({ body: "with blocks", username: "Deployer" });
});

describe("a form post", () => {
  test("is accepted with the JSON in its field payload", async () => {
    const payload = JSON.stringify({ text: "a+b = c & d, 100 %, Grüße 👋", username: "GitHub" });
    for (const body of [
      new URLSearchParams({ payload }).toString(),
      `other=1&payload=${encodeURIComponent(payload)}&x`,
    ]) {
      const { status } = await stage.send(hook.token, body, { "content-type": form });
      expect(status).toBe(202);
      expect((await stage.messages(channel))[0]).toMatchObject({
        body: "a+b = c & d, 100 %, Grüße 👋",
        username: "GitHub",
      });
    }
  });

  test("is accepted with a payload that its sender did not encode", async () => {
    const body = 'payload={"text":"50 % of Grüße"}';
    expect((await stage.send(hook.token, body, { "content-type": form })).status).toBe(202);
    expect(await newestBody()).toBe("50 % of Grüße");
  });

  test("is accepted as multipart too", async () => {
    const data = new FormData();
    data.set("payload", JSON.stringify({ text: "in parts 👋" }));
    expect((await stage.send(hook.token, data)).status).toBe(202);
    expect(await newestBody()).toBe("in parts 👋");
  });

  test("is validated as JSON is", async () => {
    const body = new URLSearchParams({ payload: JSON.stringify({ text: "x", username: 1 }) }).toString();
    const { status, json } = await stage.send(hook.token, body, { "content-type": form });
    expect(status).toBe(422);
    expect(Object.keys(json.errors ?? {})).toEqual(["username"]);
  });

  test.each([
    ["no payload", "text=hello"],
    ["an empty payload", "payload="],
    ["a payload that is not JSON", "payload=hello"],
    ["a payload that is no object", "payload=%5B1%5D"],
    ["a payload that is not UTF-8", "payload=%7B%22text%22%3A%22%ff%22%7D"],
    ["nothing in it", ""],
  ])("is refused with %s", async (_, body) => {
    const before = await newestBody();
    const { status, json } = await stage.send(hook.token, body, { "content-type": form });
    expect(status).toBe(422);
    expect(Object.keys(json.errors ?? {})).toEqual(["body"]);
    expect(await newestBody()).toBe(before);
  });

  test("as multipart is rejected if its payload is not UTF-8, but not if only other parts are not", async () => {
    const type = { "content-type": "multipart/form-data; boundary=x" };
    const part = (name: string, ...bytes: number[]) =>
      Buffer.concat([
        Buffer.from(`--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`),
        Buffer.from(bytes),
        Buffer.from("\r\n"),
      ]);
    const end = Buffer.from("--x--\r\n");
    const broken = part("payload", ...Buffer.from('{"text":"'), 0xff, ...Buffer.from('"}'));
    const answer = await stage.send(hook.token, new Uint8Array(Buffer.concat([broken, end])), type);
    expect([answer.status, Object.keys(answer.json.errors ?? {})]).toEqual([422, ["body"]]);
    const whole = part("payload", ...Buffer.from('{"text":"Grüße 👋"}'));
    const parts = Buffer.concat([part("noise", 0xff, 0xfe), whole, end]);
    expect((await stage.send(hook.token, new Uint8Array(parts), type)).status).toBe(202);
    expect(await newestBody()).toBe("Grüße 👋");
  });

  test("is refused with a payload that is a file, or that never ends", async () => {
    const data = new FormData();
    data.set("payload", new File(['{"text":"x"}'], "payload.json"));
    expect((await stage.send(hook.token, data)).status).toBe(422);
    const type = "multipart/form-data; boundary=x";
    const open = '--x\r\nContent-Disposition: form-data; name="payload"\r\n\r\n{"text":"x"}';
    expect((await stage.send(hook.token, open, { "content-type": type })).status).toBe(422);
    expect((await stage.send(hook.token, open, { "content-type": "multipart/form-data" })).status).toBe(422);
  });
});

describe("a body is refused with 422", () => {
  const bytes = (...list: number[]) => new Uint8Array(list);
  test.each([
    ["empty", ""],
    ["white space", " \n"],
    ["no JSON", "hello"],
    ["unfinished JSON", '{"text":"x"'],
    ["two values", '{"text":"x"}{"text":"y"}'],
    ["a list", '[{"text":"x"}]'],
    ["a string", '"hello"'],
    ["a number", "42"],
    ["null", "null"],
    ["bytes that are not UTF-8", bytes(...new TextEncoder().encode('{"text":"'), 0xff, 0x22, 0x7d)],
    ["UTF-16", bytes(0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00)],
    ["compressed", Bun.gzipSync('{"text":"x"}')],
    ["nested a hundred thousand deep", "[".repeat(100_000)],
  ])("when it is %s", async (_, body) => {
    const { status, json } = await stage.send(hook.token, body);
    expect(status).toBe(422);
    expect(Object.keys(json.errors ?? {})).toEqual(["body"]);
  });
});

test("a body over 1 MiB is refused with 413, and one of just 1 MiB is read", async () => {
  const padded = (size: number) => `{"text":"x","padding":"${"p".repeat(size - 25)}"}`;
  expect(padded(1024 * 1024)).toHaveLength(1024 * 1024);
  expect((await stage.send(hook.token, padded(1024 * 1024))).status).toBe(202);
  const answer = await stage.send(hook.token, padded(1024 * 1024 + 1));
  expect(answer.status).toBe(413);
  expect(answer.json.message).toMatch(/\S/);
});

test("methods other than POST are rejected with 405, and reveal nothing about the token", async () => {
  for (const token of [hook.token, "unknown"]) {
    for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
      const response = await fetch(`${stage.server.url}/webhooks/incoming/${token}`, { method });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("POST");
    }
  }
});
