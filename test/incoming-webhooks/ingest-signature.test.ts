import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import { listIncomingWebhooks } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { rotateIncomingSecret } from "../../src/incoming-webhooks/rotation.ts";
import { actor } from "../support/workspace.ts";
import {
  type Incoming,
  ingestDigest,
  startWebhookStage,
  type WebhookStage,
} from "../support/webhook-stage.ts";

const body = '{"text": "Grüße 👋",\n "extra":1}';

let stage: WebhookStage;
let channel: ChannelRow;
let hook: Incoming;
let digest: string;
beforeAll(async () => {
  stage = await startWebhookStage();
  channel = await stage.channel();
  hook = await stage.incoming(channel, { signed: true });
  digest = ingestDigest(body, hook.secret);
});
afterAll(() => stage[Symbol.asyncDispose]());

/** The status of a request that claims to be signed so. */
async function statusOf(headers: object, sent: string | Uint8Array<ArrayBuffer> = body): Promise<number> {
  const before = await stage.messages(channel);
  const { status, json } = await stage.send(hook.token, sent, headers);
  if (status === 202) return status;
  expect(await stage.messages(channel)).toEqual(before);
  expect(Object.keys(json)).toEqual(["message"]);
  return status;
}

describe("a request to a webhook with a signing secret is accepted", () => {
  test("with the hex digest of its body as X-Signature-256, bare or behind sha256=, in either case", async () => {
    expect(await statusOf({ "X-Signature-256": digest })).toBe(202);
    expect(await statusOf({ "x-signature-256": `sha256=${digest}` })).toBe(202);
    expect(await statusOf({ "X-SIGNATURE-256": digest.toUpperCase() })).toBe(202);
    expect((await stage.messages(channel))[0]?.body).toBe("Grüße 👋");
  });

  test.each([
    ["a form", new URLSearchParams({ payload: body }).toString(), "application/x-www-form-urlencoded"],
    ["JSON under another content type", body, "text/plain"],
    ["JSON after white space", `\n\t${body}\r\n`, "application/json"],
  ])("over the raw bytes of %s", async (_, sent, type) => {
    const headers = { "content-type": type, "x-signature-256": ingestDigest(sent, hook.secret) };
    expect(await statusOf(headers, sent)).toBe(202);
    if (sent !== body) expect(await statusOf({ ...headers, "x-signature-256": digest }, sent)).toBe(401);
  });

  test("with the digest that openssl computes, and rejected when one byte is flipped", async () => {
    const command = ["openssl", "dgst", "-sha256", "-hmac", hook.secret ?? ""];
    const child = Bun.spawn(command, { stdin: new TextEncoder().encode(body) });
    const computed = (await child.stdout.text()).trim().replace(/^.*= */, "");
    expect(computed).toMatch(/^[0-9a-f]{64}$/);
    expect(await statusOf({ "x-signature-256": `sha256=${computed}` })).toBe(202);
    for (const place of [0, 12, body.length - 1]) {
      const flipped = new TextEncoder().encode(body);
      flipped[place] = (flipped[place] ?? 0) ^ 1;
      expect(await statusOf({ "x-signature-256": `sha256=${computed}` }, flipped)).toBe(401);
    }
  });
});

describe("a request to a webhook with a signing secret is refused with 401 when its signature", () => {
  const wrong: Array<[string, (right: string) => string]> = [
    ["is empty", () => ""],
    ["is only a prefix", () => "sha256="],
    ["is a digit short", (right) => right.slice(1)],
    ["is a byte short", (right) => right.slice(2)],
    ["is a digit long", (right) => `${right}0`],
    ["is a byte long", (right) => `${right}00`],
    ["is not hex at its end", (right) => `${right.slice(0, -1)}g`],
    ["is not hex at all", () => "z".repeat(64)],
    ["is base64", (right) => Buffer.from(right, "hex").toString("base64")],
    ["is named sha1", (right) => `sha1=${right}`],
    ["is named SHA256", (right) => `SHA256=${right}`],
    ["is prefixed twice", (right) => `sha256=sha256=${right}`],
    ["is there twice, joined by a comma", (right) => `${right}, ${right}`],
    ["is in the form of outgoing deliveries", (right) => `t=${Math.floor(Date.now() / 1000)},v1=${right}`],
    ["is ten kilobytes long", (right) => right.repeat(160)],
    ["is all zeros", () => "0".repeat(64)],
    ["has its last digit changed", (right) => right.slice(0, -1) + (right.endsWith("0") ? "1" : "0")],
    ["has its first digit changed", (right) => (right.startsWith("0") ? "1" : "0") + right.slice(1)],
  ];
  test.each(wrong)("%s", async (_, change) => {
    expect(await statusOf({ "x-signature-256": change(digest) })).toBe(401);
  });

  test("is missing, or comes under another name", async () => {
    expect(await statusOf({})).toBe(401);
    for (const name of [
      "X-Hub-Signature-256",
      "X-Signature",
      "X-Service-Signature",
      "X-Slack-Signature",
      "Signature",
    ]) {
      expect(await statusOf({ [name]: digest })).toBe(401);
    }
    expect(await statusOf({ authorization: `Bearer ${digest}` })).toBe(401);
  });

  test("comes in two headers of the name", async () => {
    const headers = new Headers({ "x-signature-256": digest });
    headers.append("x-signature-256", digest);
    expect(await statusOf(headers)).toBe(401);
  });

  test.each([
    ["other white space", JSON.stringify(JSON.parse(body))],
    ["another order of its fields", '{"extra":1, "text": "Grüße 👋"}'],
    ["a byte order mark", `\ufeff${body}`],
    ["another Unicode form", body.normalize("NFD")],
    ["a line end added", `${body}\n`],
    ["nothing", ""],
  ])("was made for another body, and this one has %s", async (_, sent) => {
    expect(await statusOf({ "x-signature-256": digest }, sent)).toBe(401);
  });

  test("was made with the secret of another webhook, with the token, or with part of the secret", async () => {
    const other = await stage.incoming(channel, { signed: true });
    for (const key of [other.secret, hook.token, (hook.secret ?? "").replace("whsec_", ""), ""]) {
      expect(await statusOf({ "x-signature-256": ingestDigest(body, key) })).toBe(401);
    }
    expect((await stage.send(other.token, body, { "x-signature-256": digest })).status).toBe(401);
  });
});

test("every wrong signature gets the same message, which names the required scheme", async () => {
  const answers = [
    await stage.send(hook.token, body),
    await stage.send(hook.token, body, { "x-signature-256": "z" }),
    await stage.send(hook.token, body, { "x-signature-256": "0".repeat(64) }),
    await stage.send(hook.token, "{", { "x-signature-256": digest }),
  ];
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  for (const { headers } of answers) expect(headers.get("www-authenticate")).toMatch(/^HMAC-SHA256\b/);
});

test("a webhook without a secret accepts unsigned requests and ignores a signature", async () => {
  const unsigned = await stage.incoming(channel);
  expect(unsigned).toMatchObject({ signed: false, secret: null });
  expect((await stage.send(unsigned.token, body)).status).toBe(202);
  expect((await stage.send(unsigned.token, body, { "x-signature-256": "nonsense" })).status).toBe(202);
});

test("a new secret replaces the old one immediately, and makes an unsigned webhook a signed one", async () => {
  for (const signed of [true, false]) {
    const rotated = await stage.incoming(channel, { signed });
    const { vault } = stage;
    const { secret, ...shown } = await stage.database.write((tx) =>
      rotateIncomingSecret(tx, vault, stage.team.id, rotated.id, actor),
    );
    expect([shown]).toEqual(
      (await stage.database.ask((db) => listIncomingWebhooks(db, stage.team.id))).filter(
        ({ id }) => id === rotated.id,
      ),
    );
    expect(shown.signed).toBe(true);
    const withSecret = async (key: string | null) =>
      (await stage.send(rotated.token, body, { "x-signature-256": ingestDigest(body, key) })).status;
    expect(secret).not.toBe(rotated.secret ?? "");
    expect(await withSecret(secret)).toBe(202);
    expect(await withSecret(rotated.secret)).toBe(401);
    expect((await stage.send(rotated.token, body)).status).toBe(401);
  }
});
