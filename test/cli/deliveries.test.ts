import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AuditEntry } from "../../src/audit/audit.ts";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { AttemptShown } from "../../src/deliveries/attempt-log.ts";
import type { WebhookDelivery } from "../../src/subscriptions/schemas.ts";
import { environmentOf } from "../support/engine.ts";
import { keys, onTerminal, run, runJson, startServing } from "../support/cli.ts";
import { type Receiver, startReceiver } from "../support/receivers/receiver.ts";
import { parley } from "../support/server.ts";
import {
  digestOf,
  envelopeOf,
  signatureOf,
  startWebhookStage,
  type Subscribed,
  type WebhookStage,
} from "../support/webhook-stage.ts";

type Listed = WebhookDelivery & {
  replay: boolean;
  webhook_id: string;
  webhook: { id: string; name: string };
  attempt: number | null;
  max_attempts: number;
};

let stage: WebhookStage;
let channel: ChannelRow;
let receiver: Receiver;
let subscription: Subscribed;
beforeAll(async () => {
  stage = await startWebhookStage({ WEBHOOKS_MAX_ATTEMPTS: "1" });
  writeFileSync(
    join(stage.dataDir, "parley.toml"),
    "webhooks_block_private_urls = false\nwebhooks_max_attempts = 1\n",
  );
  channel = await stage.channel();
  receiver = startReceiver();
  subscription = await stage.subscribe(receiver, { name: "Logged", channel_ids: [channel.id] });
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

const json = <Data>(...args: string[]) => runJson<Data>(stage.dataDir, args);

/** Posts a message that the receiver answers like this, and returns the attempt that told it. */
async function deliver(status: number, answer: string | null = null): Promise<Listed> {
  receiver.answer = () => new Response(answer, { status });
  await stage.post(channel);
  await stage.drained(subscription);
  const [attempt] = await json<Listed[]>("deliveries", "list", "--limit", "1");
  if (!attempt) throw new Error("nothing was delivered");
  return attempt;
}

test("attempts are listed newest first, all or the failed ones, of all subscriptions or one", async () => {
  await using other = startReceiver();
  const second = await stage.subscribe(other, { name: "Second", channel_ids: [channel.id] });
  receiver.answer = () => new Response(null, { status: 503 });
  await stage.post(channel);
  await stage.drained(subscription);
  await stage.drained(second);

  const failed = await json<Listed[]>("deliveries", "list", "--failed");
  expect(failed).toEqual([
    {
      id: expect.any(String) as unknown as string,
      event_type: "message.created",
      event_id: envelopeOf(await receiver.nth(1)).id,
      succeeded: false,
      response_status: 503,
      error: "the receiver answered 503",
      created_at: expect.any(String) as unknown as string,
      replay: false,
      webhook_id: subscription.id,
      webhook: { id: subscription.id, name: "Logged" },
      attempt: 1,
      max_attempts: 1,
    },
  ]);
  const ofSecond = await json<Listed[]>("deliveries", "list", "--webhook", "Second");
  expect(ofSecond).toMatchObject([{ webhook_id: second.id, succeeded: true, error: null }]);
  const ofFirst = await json<Listed[]>("deliveries", "list", "--webhook", subscription.id);
  expect(ofFirst).toEqual(failed);
  const all = await json<Listed[]>("deliveries", "list");
  expect(all.map(({ id }) => id).toSorted()).toEqual(
    [...ofFirst, ...ofSecond].map(({ id }) => id).toSorted(),
  );
  expect(await json<Listed[]>("deliveries", "list", "--limit", "1")).toEqual(all.slice(0, 1));

  const { stdout } = await run(stage.dataDir, ["deliveries", "list", "--failed"]);
  expect(stdout).toMatch(/^just now +Logged +message\.created +1\/1 +failed 503 +[0-9a-f-]{36}$/m);
  await json("webhooks", "delete", "Second", "--yes");
});

test("an attempt is shown with its request, without the signature, and the start of the response", async () => {
  const attempt = await deliver(400, `no\r\n\u001b]0;title\u0007${"x".repeat(2000)}`);
  const request = receiver.requests.at(-1);
  const shown = await json<AttemptShown>("deliveries", "show", attempt.id);
  const { webhook_id, webhook: _, attempt: __, max_attempts: ___, ...listed } = attempt;
  expect(shown).toMatchObject({
    ...listed,
    webhook: { id: webhook_id, name: "Logged", url: receiver.url },
    request: { body: request?.text ?? "" },
  });
  expect(shown.response).toHaveLength(1024);
  const ofTheMoment = ["x-service-signature", "webhook-timestamp", "webhook-signature"];
  for (const [name, value] of Object.entries(shown.request.headers)) {
    const isKept = !ofTheMoment.includes(name);
    expect(value, name).toBe(isKept ? (request?.headers.get(name) ?? "") : "(not kept)");
  }
  for (const name of ofTheMoment) {
    expect(Object.keys(shown.request.headers)).toContain(name);
    const sent = request?.headers.get(name) ?? "";
    expect(sent, name).not.toBe("");
    if (name.endsWith("signature")) expect(JSON.stringify(shown)).not.toContain(sent.slice(-44));
  }

  const { stdout } = await run(stage.dataDir, ["deliveries", "show", attempt.id]);
  expect(stdout).toMatch(/^> x-service-event +message\.created$/m);
  expect(stdout).toContain("no\\u{d}\\n\\u{1b}]0;title\\u{7}xxx");
  expect(stdout).not.toMatch(/[^\P{Cc}\n]/u);
});

test("a replay sends the same request again and is distinguishable from the first attempt, in the log too", async () => {
  const attempt = await deliver(500);
  const first = receiver.requests.at(-1);
  const failing = await run(stage.dataDir, ["deliveries", "replay", attempt.id, "--json"]);
  expect(failing.status).toBe(1);
  expect(JSON.parse(failing.stdout)).toMatchObject({
    message: expect.stringContaining("the receiver answered 500"),
    data: { replay: true, succeeded: false, response_status: 500 },
  });

  receiver.answer = () => new Response(null, { status: 204 });
  const sent = await json<Listed>("deliveries", "replay", attempt.id);
  expect(sent).toMatchObject({
    event_id: attempt.event_id,
    succeeded: true,
    response_status: 204,
    replay: true,
  });
  expect(sent.id).not.toBe(attempt.id);
  const again = receiver.requests.at(-1);
  if (!again) throw new Error("the receiver has it");
  expect(again.text).toBe(first?.text ?? "");
  expect(signatureOf(again).digests).toEqual([digestOf(again, subscription.secret)]);
  expect((await json<Listed[]>("deliveries", "list", "--limit", "1"))[0]?.id).toBe(sent.id);
  const [entry] = await json<AuditEntry[]>("audit", "list", "--action", "delivery.replayed", "--limit", "1");
  expect(entry).toMatchObject({
    actor: `cli:${Bun.spawnSync(["id", "-un"]).stdout.toString().trim()}`,
    target: `delivery:${attempt.id}`,
  });
});

test("on a terminal the attempt is chosen from the latest ones", async () => {
  await deliver(418);
  await using screen = onTerminal(stage.dataDir, ["deliveries", "show"]);
  await screen.shows("Which attempt?");
  await screen.shows("message.created, failed 418");
  screen.type(keys.enter);
  await screen.shows("Logged, http://127.0.0.1:");
  await screen.shows("< status");
  await screen.shows("418");
  expect(await screen.ended()).toBe(0);
});

test("on a terminal new attempts appear until Ctrl-C, which exits with 0", async () => {
  await using screen = onTerminal(stage.dataDir, ["deliveries", "list", "--follow", "--limit", "1"]);
  await screen.shows("Following. Stop it with Ctrl-C.");
  await screen.shows(":");
  const failed = await deliver(402);
  await screen.shows(`failed 402  ${failed.id.slice(-8)}  Logged`);
  const succeeded = await deliver(204);
  await screen.shows(`ok 204      ${succeeded.id.slice(-8)}  Logged`);
  expect(screen.text.split(failed.id.slice(-8))).toHaveLength(2);
  for (const line of screen.text.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
  screen.type(keys.interrupt);
  expect(await screen.ended()).toBe(0);
});

test("following into a pipe ends on SIGTERM or when the reader closes it", async () => {
  const attempt = await deliver(204);
  const args = ["deliveries", "list", "--follow", "--limit", "1", "--webhook", "Logged"];
  await using following = startServing(stage.dataDir, args);
  expect(await following.firstLine()).toContain(attempt.id);
  expect(await following.stop()).toEqual({ status: 0, rest: "" });

  const line = `"$0" ${args.join(" ")} | head -n 1`;
  const env = {
    PATH: process.env.PATH ?? "",
    PARLEY_DATA_DIR: stage.dataDir,
    ...environmentOf(stage.dataDir),
  };
  const shell = Bun.spawn(["bash", "-o", "pipefail", "-c", line, parley], {
    env,
    stdout: "pipe",
    stderr: "ignore",
  });
  const { value } = await shell.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toContain(attempt.id);
  await deliver(204);
  expect(await shell.exited).toBe(0);
});

test("without a running server, replaying and reading the log still work", async () => {
  const attempt = await deliver(500);
  await stage.stop();
  receiver.answer = () => new Response(null, { status: 204 });
  const before = receiver.requests.length;
  expect(await json<Listed>("deliveries", "replay", attempt.id)).toMatchObject({ succeeded: true });
  expect(receiver.requests).toHaveLength(before + 1);
  expect(await json<Listed[]>("deliveries", "list", "--limit", "2")).toMatchObject([
    { replay: true },
    attempt,
  ]);
});
