import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AuditEntry } from "../../src/audit/audit.ts";
import type { TestAnswer } from "../../src/deliveries/test-request.ts";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { keys, onTerminal, run, runJson } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { startReceiver, statuses } from "../support/receivers/receiver.ts";
import {
  digestOf,
  envelopeOf,
  type Shown,
  signatureOf,
  startWebhookStage,
  type Subscribed,
  type WebhookStage,
} from "../support/webhook-stage.ts";

const id = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) as unknown as string;
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/) as unknown as string;
const cliActor = `cli:${Bun.spawnSync(["id", "-un"]).stdout.toString().trim()}`;

let stage: WebhookStage;
beforeAll(async () => {
  // Retries wait for longer than a test does: what arrives is due to a command.
  stage = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: "3600" });
  // The commands need to know too that receivers may stand on this machine.
  writeFileSync(join(stage.dataDir, "parley.toml"), "webhooks_block_private_urls = false\n");
});
afterAll(async () => {
  await stage[Symbol.asyncDispose]();
});

const json = <Data>(...args: string[]) => runJson<Data>(stage.dataDir, args);

/** Subscribes to messages with the command, and with what `more` says. */
async function create(name: string, url: string, ...more: string[]): Promise<Subscribed> {
  const needed = ["--name", name, "--url", url, "--event", "message.created"];
  return await json<Subscribed>("webhooks", "create", ...needed, ...more);
}

/** What was done to the subscription, oldest first, by whom. */
async function changesOf(subscription: { id: string }): Promise<Array<Pick<AuditEntry, "action" | "actor">>> {
  const entries = await json<AuditEntry[]>("audit", "list", "--limit", "1000");
  return entries
    .filter(({ target }) => target === `webhook:${subscription.id}`)
    .map(({ action, actor }) => ({ action, actor }))
    .reverse();
}

test("a subscription is created for named channels, shown by name and listed, its secret only once", async () => {
  await using receiver = startReceiver();
  const channel = await stage.channel();
  const options = ["--event", "reaction.added", "--channel", channel.slug, "#general"];
  const { secret, ...made } = await create("Named", receiver.url, ...options);
  expect(made).toEqual({
    id,
    name: "Named",
    url: receiver.url,
    events: ["message.created", "reaction.added"],
    channel_ids: [channel.id, stage.team.general.id],
    header_names: [],
    status: "active",
    consecutive_failures: 0,
    last_success_at: null,
    disabled_at: null,
    created_at: time,
    created_by: cliActor,
  } as typeof made);
  expect(secret).toMatch(/^whsec_[0-9A-Za-z]+$/);

  const all = await json<WebhookSubscription[]>("webhooks", "list");
  expect(all).toContainEqual(expect.objectContaining(made));
  const shown = await json<Shown>("webhooks", "show", "Named");
  expect(shown).toEqual({ ...made, deliveries: [], health: expect.any(Object) } as typeof shown);
  const { stdout } = await run(stage.dataDir, ["webhooks", "show", made.id]);
  expect(stdout).toContain(`#${channel.name}`);
  expect(stdout).toMatch(new RegExp(`^creator +${cliActor}$`, "m"));
  const audit = await json<AuditEntry[]>("audit", "list", "--limit", "1000");
  expect(JSON.stringify([all, shown, audit]) + stdout).not.toContain(secret);

  await stage.post(channel);
  await stage.post(await stage.channel());
  await stage.post(stage.team.general);
  const heard = (await receiver.received(2)).map((request) => envelopeOf(request).data.channel_id);
  expect(new Set(heard)).toEqual(new Set([channel.id, stage.team.general.id]));
});

test("a ping is signed, prints the response, is no delivery, and fails if the receiver does", async () => {
  await using receiver = startReceiver(() => new Response("pong \u001b[31m", { status: 200 }));
  const made = await create("Pinged", receiver.url);
  const pong = await json<TestAnswer>("webhooks", "ping", "Pinged");
  expect(pong).toEqual({
    succeeded: true,
    response_status: 200,
    error: null,
    response: "pong \u001b[31m",
    duration_ms: expect.any(Number) as unknown as number,
  });
  const request = await receiver.nth(1);
  expect(envelopeOf(request).type).toBe("ping");
  expect(signatureOf(request).digests).toEqual([digestOf(request, made.secret)]);
  const { stdout } = await run(stage.dataDir, ["webhooks", "ping", made.id]);
  expect(stdout).toContain("pong \\u{1b}[31m");

  receiver.answer = () => new Response("not today", { status: 500 });
  const failed = await run(stage.dataDir, ["webhooks", "ping", made.id]);
  expect({ ...failed, stderr: failed.stderr.replace(/\d+ ms/, "N ms") }).toEqual({
    status: 1,
    stdout: "",
    stderr: "error: Ping failed in N ms: the receiver answered 500.\nerror: Response: not today\n",
  });
  const inJson = await run(stage.dataDir, ["webhooks", "ping", made.id, "--json"]);
  expect(inJson.status).toBe(1);
  expect(JSON.parse(inJson.stdout)).toMatchObject({
    message: expect.stringContaining("the receiver answered 500"),
    data: { succeeded: false, response_status: 500, response: "not today" },
  });
  expect((await json<Shown>("webhooks", "show", "Pinged")).deliveries).toEqual([]);
});

test("a secret is rotated immediately, or with an overlap in which both sign, and shown once", async () => {
  await using receiver = startReceiver();
  const made = await create("Rotated", receiver.url);
  const rotate = ["webhooks", "rotate-secret", "Rotated", "--yes"];
  const second = await json<Subscribed>(...rotate);
  expect(Object.keys(second).toSorted()).toEqual(Object.keys(made).toSorted());
  await json("webhooks", "ping", made.id);
  const third = await json<Subscribed>(...rotate, "--overlap", "24h");
  await json("webhooks", "ping", made.id);
  const [alone, both] = await receiver.received(2);
  if (!alone || !both) throw new Error("two pings came");
  expect(signatureOf(alone).digests).toEqual([digestOf(alone, second.secret)]);
  expect(signatureOf(both).digests).toEqual([third, second].map(({ secret }) => digestOf(both, secret)));
  expect(new Set([made.secret, second.secret, third.secret]).size).toBe(3);
  expect(await changesOf(made)).toEqual(
    ["webhook.created", "webhook.secret_rotated", "webhook.secret_rotated"].map((action) => ({
      action,
      actor: cliActor,
    })),
  );
});

test("disabling stops deliveries, enabling reports the pending events and sends them in order, deleting ends it", async () => {
  await using receiver = startReceiver(statuses(500));
  const channel = await stage.channel();
  const made = await create("States", receiver.url, "--channel", channel.id);
  await stage.post(channel, "waits");
  await receiver.received(1);
  const disabled = await json<WebhookSubscription>("webhooks", "disable", "States", "--yes");
  expect(disabled).toMatchObject({ id: made.id, status: "disabled", disabled_at: time });
  await stage.post(channel, "waits too");
  expect((await run(stage.dataDir, ["webhooks", "list"])).stdout).toMatch(/^States +disabled /m);

  receiver.answer = statuses(204);
  const enabled = await json<WebhookSubscription>("webhooks", "enable", "States");
  expect(enabled).toMatchObject({
    id: made.id,
    status: "active",
    consecutive_failures: 0,
    disabled_at: null,
    pending: { count: 2, since: time },
  });
  const [, ...later] = await receiver.received(3);
  expect(later.map((request) => envelopeOf(request).data.body)).toEqual(["waits", "waits too"]);
  await stage.drained(made);

  expect(await json<WebhookSubscription>("webhooks", "delete", "States", "--yes")).toMatchObject({
    id: made.id,
    name: "States",
  });
  await stage.post(channel, "too late");
  expect((await run(stage.dataDir, ["webhooks", "show", made.id])).status).toBe(3);
  expect(receiver.requests).toHaveLength(3);
  expect(await changesOf(made)).toEqual(
    ["created", "disabled", "enabled", "deleted"].map((verb) => ({
      action: `webhook.${verb}`,
      actor: cliActor,
    })),
  );
});

test("enabling tells people how many events are pending and since when, before sending them", async () => {
  await using receiver = startReceiver();
  const channel = await stage.channel();
  const made = await create("Told", receiver.url, "--channel", channel.id);
  await json("webhooks", "disable", made.id, "--yes");
  for (const body of ["one", "two", "three"]) await stage.post(channel, body);
  const { stderr, stdout } = await run(stage.dataDir, ["webhooks", "enable", "Told"]);
  expect(stderr).toMatch(/^3 events \(oldest: just now\) pending for Told will be sent in order\.$/m);
  expect(stdout).toContain("The subscription Told is active.");
  expect((await receiver.received(3)).map((request) => envelopeOf(request).data.body)).toEqual([
    "one",
    "two",
    "three",
  ]);
});

test("pending events are dropped on request", async () => {
  await using receiver = startReceiver(statuses(500));
  const channel = await stage.channel();
  const made = await create("Discarding", receiver.url, "--channel", channel.id);
  await stage.post(channel);
  await receiver.received(1);
  await until("the failure counts", async () => (await stage.shown(made)).consecutive_failures === 1);
  expect(await stage.queued(made)).toBe(1);
  expect((await run(stage.dataDir, ["webhooks", "list"])).stdout).toMatch(/^Discarding +failing \(1\) /m);
  await json("webhooks", "disable", made.id, "--yes");
  await json("webhooks", "enable", "Discarding", "--discard-pending", "--yes");
  expect(await stage.queued(made)).toBe(0);
});

test("on a terminal prompts ask for everything that a subscription needs", async () => {
  await using screen = onTerminal(stage.dataDir, ["webhooks", "create"]);
  await screen.shows("What is it for?");
  screen.type(`Asked${keys.enter}`);
  await screen.shows("Where should events be sent?");
  screen.type(`http://192.0.2.1/${keys.enter}`);
  await screen.shows("Which events should be sent?");
  screen.type(keys.down + keys.space + keys.enter);
  await screen.shows("which is shown only once:");
  expect(await screen.ended()).toBe(0);
  const subscription = await json<Shown>("webhooks", "show", "Asked");
  expect(subscription).toMatchObject({ url: "http://192.0.2.1/", events: ["message.updated"] });
});

test("on a terminal the subscription is chosen at a prompt, and the confirmation names it", async () => {
  await create("Chosen", "http://192.0.2.1/");
  await using screen = onTerminal(stage.dataDir, ["webhooks", "disable"]);
  await screen.shows("Which subscription?");
  screen.type("Chos");
  await screen.shows("Chos");
  screen.type(keys.enter);
  await screen.shows("Disable the subscription Chosen?");
  screen.type("y");
  await screen.shows("The subscription Chosen is disabled.");
  expect(await screen.ended()).toBe(0);
});

test("a URL that the address guard rejects is refused, and the operator is told why", async () => {
  const args = [
    "webhooks",
    "create",
    "--name",
    "Inner",
    "--url",
    "http://10.0.0.1/",
    "--event",
    "message.created",
  ];
  const { status, stderr } = await run(stage.dataDir, args, { WEBHOOKS_BLOCK_PRIVATE_URLS: "true" });
  expect(status).toBe(1);
  expect(stderr).toContain("The URL was refused: 10.0.0.1 is in 10.0.0.0/8");
  expect(stderr).toContain("error: The url field must be a publicly reachable http or https address.");
});
