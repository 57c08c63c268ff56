import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { deleteBot } from "../../src/accounts/bots.ts";
import type { ChannelRow } from "../../src/channels/store.ts";
import {
  createIncomingWebhook,
  revokeIncomingWebhook,
} from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { rotateIncomingSecret } from "../../src/incoming-webhooks/rotation.ts";
import { newSecret } from "../../src/secrets/secret-text.ts";
import { actor } from "../support/workspace.ts";
import { ingestDigest, refusalOf, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

const body = '{"text":"hello"}';
const invalid = '{"text":""}';

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage({ INTEGRATIONS_INGEST_RATE_LIMIT: "8" });
});
afterAll(() => stage[Symbol.asyncDispose]());

const signed = (text: string, secret: string | null) => ({ "x-signature-256": ingestDigest(text, secret) });

describe("the first failing check decides the response", () => {
  test("an unknown token is 404, whatever the body and the signature", async () => {
    const token = newSecret("ply_in_");
    for (const text of [body, invalid, "{", ""]) expect((await stage.send(token, text)).status).toBe(404);
  });

  test("too many requests are 429, before the bot and the body are checked", async () => {
    for (const isSigned of [false, true]) {
      const channel = await stage.channel();
      const hook = await stage.incoming(channel, { signed: isSigned });
      await stage.workspace.leave(channel, hook.bot);
      const statuses = [];
      for (let nth = 0; nth < 10; nth++) {
        statuses.push((await stage.send(hook.token, "{", signed("{", hook.secret))).status);
      }
      expect(statuses).toEqual([403, 403, 403, 403, 403, 403, 403, 403, 429, 429]);
      const answer = await stage.send(hook.token, body, signed(body, hook.secret));
      expect(answer.status).toBe(429);
      expect(Number(answer.headers.get("retry-after"))).toBeWithin(1, 61);
      expect(answer.headers.get("x-ratelimit-remaining")).toBe("0");
      expect(answer.json.message).toMatch(/\S/);
    }
  });

  test("too many requests without a valid signature are 429, before the bot and the body are checked", async () => {
    const channel = await stage.channel();
    const hook = await stage.incoming(channel, { signed: true });
    const statuses = [];
    for (let nth = 0; nth < 10; nth++) statuses.push((await stage.send(hook.token, "{")).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 401, 401, 429, 429]);
    await stage.workspace.leave(channel, hook.bot);
    const answer = await stage.send(hook.token, body, signed(invalid, hook.secret));
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get("retry-after"))).toBeWithin(1, 61);
    expect(answer.headers.get("x-ratelimit-remaining")).toBe("0");
    expect(answer.json.message).toMatch(/without a valid signature/);
  });

  test("a wrong signature is 401, before the bot and the body are checked", async () => {
    const channel = await stage.channel();
    const hook = await stage.incoming(channel, { signed: true });
    await stage.workspace.leave(channel, hook.bot);
    await stage.workspace.archive(channel);
    expect((await stage.send(hook.token, invalid)).status).toBe(401);
    expect((await stage.send(hook.token, invalid, signed(body, hook.secret))).status).toBe(401);
  });

  test.each([
    ["rotated", 401, rotateIncomingSecret],
    ["revoked", 404, (tx, _vault, teamId, id, by) => revokeIncomingWebhook(tx, teamId, id, by)],
  ] as Array<[string, number, typeof rotateIncomingSecret]>)(
    "what is %s while the body is on its way counts at once: %i",
    async (_, status, change) => {
      const channel = await stage.channel();
      const hook = await stage.incoming(channel, { signed: true });
      const sent = Promise.withResolvers<void>();
      const answer = fetch(`${stage.server.url}/webhooks/incoming/${hook.token}`, {
        method: "POST",
        headers: signed(body, hook.secret),
        body: new ReadableStream({
          async start(controller) {
            controller.enqueue(Buffer.from(body.slice(0, 5)));
            await sent.promise;
            controller.enqueue(Buffer.from(body.slice(5)));
            controller.close();
          },
        }),
      });
      // The server has the beginning of that request before this one.
      await stage.api.get("/channels");
      await stage.database.write((tx) => change(tx, stage.vault, stage.team.id, hook.id, actor));
      sent.resolve();
      expect((await answer).status).toBe(status);
      expect(await stage.messages(channel)).toEqual([]);
    },
  );

  test("a bot that is not in the channel is 403, before the body is checked", async () => {
    const channel = await stage.channel();
    const hook = await stage.incoming(channel, { signed: true });
    await stage.workspace.leave(channel, hook.bot);
    for (const text of [body, invalid, "{"]) {
      expect((await stage.send(hook.token, text, signed(text, hook.secret))).status).toBe(403);
    }
  });

  test("an archived channel is 403, before the body is checked", async () => {
    const channel = await stage.channel();
    const hook = await stage.incoming(channel);
    await stage.workspace.archive(channel);
    for (const text of [body, invalid, "{"]) expect((await stage.send(hook.token, text)).status).toBe(403);
    expect(await stage.messages(channel)).toEqual([]);
  });

  test("a body that cannot be posted is 422, the last check, and everything else is 202", async () => {
    const hook = await stage.incoming(await stage.channel(), { signed: true });
    expect((await stage.send(hook.token, invalid, signed(invalid, hook.secret))).status).toBe(422);
    const answer = await stage.send(hook.token, body, signed(body, hook.secret));
    expect(answer).toMatchObject({ status: 202, text: "" });
    expect(answer.headers.get("x-ratelimit-limit")).toBe("8");
    expect(answer.headers.get("x-ratelimit-remaining")).toBe("6");
    expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe("the rate limit of a webhook", () => {
  test("is its own: neither another webhook of the channel nor the API uses it up", async () => {
    const channel = await stage.channel();
    const [one, other] = [await stage.incoming(channel), await stage.incoming(channel)];
    const answers = await Promise.all(Array.from({ length: 12 }, () => stage.send(one.token, body)));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(8);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(4);
    expect((await stage.send(other.token, body)).status).toBe(202);
    expect(await stage.messages(channel)).toHaveLength(9);
  });

  test("is used up only by signed requests if the webhook requires signatures", async () => {
    await using usual = await startWebhookStage({ INTEGRATIONS_INGEST_RATE_LIMIT: "" });
    const hook = await usual.incoming(await usual.channel(), { signed: true });
    const strangers = await Promise.all(Array.from({ length: 61 }, () => usual.send(hook.token, body)));
    expect(strangers.filter(({ status }) => status === 401)).toHaveLength(60);
    expect(strangers.filter(({ status }) => status === 429)).toHaveLength(1);
    const right = signed(body, hook.secret);
    const answers = await Promise.all(Array.from({ length: 62 }, () => usual.send(hook.token, body, right)));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(60);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(2);
  });

  test("is reported to signed and unsigned requests by their own count", async () => {
    const hook = await stage.incoming(await stage.channel(), { signed: true });
    const left = async (headers = {}) =>
      (await stage.send(hook.token, body, headers)).headers.get("x-ratelimit-remaining");
    const right = signed(body, hook.secret);
    expect([await left(), await left(), await left(right), await left(), await left(right)]).toEqual([
      "7",
      "6",
      "7",
      "5",
      "6",
    ]);
  });

  test("counts unsigned requests even if their body is rejected before the signature can be checked", async () => {
    const hook = await stage.incoming(await stage.channel(), { signed: true });
    const long = "a".repeat(1024 * 1024 + 1);
    const statuses = [];
    for (let nth = 0; nth < 9; nth++) statuses.push((await stage.send(hook.token, long)).status);
    expect(statuses).toEqual([413, 413, 413, 413, 413, 413, 413, 413, 429]);
    expect((await stage.send(hook.token, body, signed(body, hook.secret))).status).toBe(202);
  });

  test("is 60 a minute unless it is set", async () => {
    await using usual = await startWebhookStage({ INTEGRATIONS_INGEST_RATE_LIMIT: "" });
    const hook = await usual.incoming(await usual.channel());
    const answers = await Promise.all(Array.from({ length: 62 }, () => usual.send(hook.token, body)));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(60);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(2);
  });
});

describe("the URL works only as long as its bot may post", () => {
  test("it is 403 while the bot is out of the channel, and works again when it is back", async () => {
    const channel = await stage.channel();
    const hook = await stage.incoming(channel);
    expect((await stage.send(hook.token, body)).status).toBe(202);
    await stage.workspace.leave(channel, hook.bot);
    expect((await stage.send(hook.token, body)).status).toBe(403);
    await stage.workspace.join(channel, hook.bot);
    expect((await stage.send(hook.token, body)).status).toBe(202);
  });

  test("it is 403 when the bot was removed through the API", async () => {
    const channel = await stage.channel("private");
    const hook = await stage.incoming(channel);
    expect((await stage.api.del(`/channels/${channel.id}/members/${hook.bot.id}`)).status).toBe(204);
    expect((await stage.send(hook.token, body)).status).toBe(403);
  });

  test("it is 404 from the moment it is revoked; its messages stay", async () => {
    const channel = await stage.channel();
    const hook = await stage.incoming(channel, { signed: true });
    expect((await stage.send(hook.token, body, signed(body, hook.secret))).status).toBe(202);
    const { bot, token, secret, ...shown } = hook;
    const revoked = stage.database.write((tx) => revokeIncomingWebhook(tx, stage.team.id, hook.id, actor));
    expect(await revoked).toEqual({ ...shown, bot: { id: bot.id, name: bot.name } });
    expect((await stage.send(token, body, signed(body, secret))).status).toBe(404);
    expect((await stage.send(hook.token, body)).status).toBe(404);
    expect((await stage.messages(channel)).map(({ author }) => author.id)).toEqual([hook.bot.id]);
    expect((await stage.audit("incoming_webhook.revoked"))[0]?.target).toBe(`incoming_webhook:${hook.id}`);
  });

  test("it is 404 from the moment its bot is deleted; its messages stay", async () => {
    const channel = await stage.channel();
    const hook = await stage.incoming(channel);
    expect((await stage.send(hook.token, body)).status).toBe(202);
    await stage.database.write((tx) => deleteBot(tx, hook.bot, actor));
    expect((await stage.send(hook.token, body)).status).toBe(404);
    expect((await stage.messages(channel)).map(({ author }) => author.name)).toEqual([hook.bot.name]);
  });
});

test("a bot has one webhook for each of its channels, and can get a new one once that is revoked", async () => {
  const [channel, second, foreign] = [await stage.channel(), await stage.channel(), await stage.channel()];
  const bot = await stage.bot(channel, second);
  const create = (where: ChannelRow) =>
    stage.database.write((tx) =>
      createIncomingWebhook(tx, stage.vault, { bot, channel: where }, { name: "test", signed: false }, actor),
    );
  const first = await create(channel);
  await create(second);
  expect(await refusalOf(create(channel))).toMatch(/already/);
  expect(await refusalOf(create(foreign))).toMatch(/not in/);
  await stage.database.write((tx) => revokeIncomingWebhook(tx, stage.team.id, first.id, actor));
  const again = await create(channel);
  expect((await stage.send(first.token, body)).status).toBe(404);
  expect((await stage.send(again.token, body)).status).toBe(202);
});

describe("a URL that is not exactly a webhook's is 404", () => {
  let token: string;
  beforeAll(async () => {
    token = (await stage.incoming(await stage.channel())).token;
  });

  const tricks: Array<[string, (right: string) => string]> = [
    ["nothing", () => ""],
    ["dots in front", (right) => `../incoming/x${right}`],
    ["encoded dots in front", (right) => `%2e%2e%2f${right}`],
    ["encoded dots, twice encoded", (right) => `%252e%252e%252f${right}`],
    ["a NUL at its end", (right) => `${right}%00`],
    ["a broken escape at its end", (right) => `${right}%zz`],
    ["a half escape at its end", (right) => `${right}%`],
    ["bytes that are not UTF-8", (right) => `${right}%ff`],
    ["a slash at its end", (right) => `${right}/`],
    ["an encoded slash at its end", (right) => `${right}%2f`],
    ["more path behind it", (right) => `${right}/more`],
    ["a space at its end", (right) => `${right}%20`],
    ["a dot at its end", (right) => `${right}.`],
    ["a semicolon parameter", (right) => `${right};x=1`],
    ["a line end", (right) => `${right}%0a`],
    ["a quote", (right) => `${right}%27%20OR%201=1--`],
    ["another case", (right) => right.toUpperCase()],
    ["its last character missing", (right) => right.slice(0, -1)],
    ["its last character changed", (right) => right.slice(0, -1) + (right.endsWith("a") ? "b" : "a")],
    ["a look-alike letter", (right) => right.replace("ply", encodeURIComponent("рly"))],
    ["full-width letters", (right) => right.replace("ply", encodeURIComponent("ｐｌｙ"))],
    ["its prefix missing", (right) => right.replace("ply_in_", "")],
    ["the prefix of a bot's token", (right) => right.replace("ply_in_", "ply_bot_")],
    ["ten kilobytes", (right) => right + "a".repeat(10_240)],
  ];
  test.each(tricks)("%s", async (_, change) => {
    const url = `${stage.server.url}/webhooks/incoming/${change(token)}`;
    const response = await fetch(url, { method: "POST", body });
    expect(response.status).toBe(404);
    const answer = (await response.json()) as Record<string, unknown>;
    expect(Object.keys(answer)).toEqual(["message"]);
    expect(JSON.stringify(answer)).not.toContain(token);
  });

  test("but an equivalent URL with escaped characters works", async () => {
    const { status } = await stage.send(token.replace("ply_in_", "%70ly%5Fin_"), body);
    expect(status).toBe(202);
  });
});
