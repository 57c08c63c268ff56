import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ChannelRow } from "../../../src/channels/store.ts";
import { type Incoming, startWebhookStage, type WebhookStage } from "../../support/webhook-stage.ts";

let stage: WebhookStage;
let channel: ChannelRow;
let hook: Incoming;
beforeAll(async () => {
  stage = await startWebhookStage();
  channel = await stage.channel();
  hook = await stage.incoming(channel);
});
afterAll(() => stage[Symbol.asyncDispose]());

async function post(suffix: string, body: string, headers: Record<string, string> = {}) {
  const address = `${stage.server.url}/webhooks/incoming/${hook.token}/${suffix}`;
  const response = await fetch(address, { method: "POST", body, headers });
  return { status: response.status, type: response.headers.get("content-type"), body: await response.text() };
}

const newest = async () => (await stage.messages(channel))[0];

test("whatever curl -d sends to /text is the message", async () => {
  const type = { "content-type": "application/x-www-form-urlencoded" };
  expect(await post("text", "50 % done & more", type)).toEqual({
    status: 200,
    type: "text/plain; charset=utf-8",
    body: "ok",
  });
  expect((await newest())?.body).toBe("50 % done & more");
});

test("text that is too long is cut, and what cannot be stored is replaced", async () => {
  expect((await post("text", `\0${"é".repeat(9000)}`)).status).toBe(200);
  expect((await newest())?.body).toBe(`\uFFFD${"é".repeat(7998)}…`);
});

test("an empty body is refused", async () => {
  const { status, body } = await post("text", " \n");
  expect({ status, message: JSON.parse(body).message }).toEqual({
    status: 422,
    message: "The post has no text.",
  });
});

test("Slack's address answers as Slack does, errors too", async () => {
  const plain = "text/plain; charset=utf-8";
  expect(await post("slack", '{"text":"hello"}')).toEqual({ status: 200, type: plain, body: "ok" });
  expect(await post("slack", "no JSON")).toEqual({ status: 400, type: plain, body: "invalid_payload" });
  expect(await post("slack", "{}")).toEqual({ status: 400, type: plain, body: "no_text" });
});

test("an address with an unknown ending names those that there are", async () => {
  const { status, body } = await post("slak", '{"text":"hello"}');
  expect(status).toBe(404);
  expect(JSON.parse(body).message).toContain("/slack, ");
});
