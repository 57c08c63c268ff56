import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { ListedAttempt } from "../../src/deliveries/attempt-search.ts";
import { onTerminal, run, runJson, runRefused } from "../support/cli.ts";
import { startWebhookStage, type Listener, type WebhookStage } from "../support/webhook-stage.ts";

let stage: WebhookStage;
let channel: ChannelRow;
let sound: Listener;
let failing: Listener;
let messages: string[];
let all: ListedAttempt[];

beforeAll(async () => {
  stage = await startWebhookStage({ WEBHOOKS_MAX_ATTEMPTS: "3" });
  channel = await stage.channel();
  sound = await stage.listen({ name: "Sound" });
  failing = await stage.listen(
    { name: "Failing", events: ["message.created"] },
    () => new Response(null, { status: 500 }),
  );
  messages = [];
  for (const body of ["one", "two"]) messages.push((await stage.post(channel, body)).id);
  await stage.api.patch(`/channels/${channel.id}/messages/${messages[0]}`, { body: "edited" });
  await stage.api.put(
    `/channels/${channel.id}/messages/${messages[0]}/reactions/${encodeURIComponent("👍")}`,
  );
  await stage.post(channel, `about ${messages[0]}`);
  for (const { subscription } of [sound, failing]) await stage.drained(subscription);
  all = await list("--limit", "100");
});
afterAll(async () => {
  await sound[Symbol.asyncDispose]();
  await failing[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

const list = (...options: string[]) =>
  runJson<ListedAttempt[]>(stage.dataDir, ["deliveries", "list", ...options], {
    WEBHOOKS_MAX_ATTEMPTS: "3",
  });

test("each attempt says which it is of how many, and for which webhook", () => {
  const ofOne = all.filter(({ webhook_id }) => webhook_id === failing.subscription.id).toReversed();
  const events = [...new Set(ofOne.map(({ event_id }) => event_id))];
  expect(events).toHaveLength(3);
  for (const event of events) {
    const attempts = ofOne.filter(({ event_id }) => event_id === event);
    expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(attempts.map(({ webhook }) => webhook.name)).toEqual(["Failing", "Failing", "Failing"]);
  }
});

test("a message leads to the attempts at all of its events, and not to those that only quote it", async () => {
  const found = await list("--message", messages[0] ?? "");
  expect(found.map(({ event_type }) => event_type).toSorted()).toEqual([
    "message.created",
    "message.created",
    "message.created",
    "message.created",
    "message.updated",
    "reaction.added",
  ]);
  expect(await list("--message", messages[0] ?? "", "--type", "reaction.added")).toEqual(
    found.filter(({ event_type }) => event_type === "reaction.added"),
  );
});

test("filters are combined, and each narrows the list", async () => {
  const [event] = all.filter(({ webhook }) => webhook.name === "Failing").map(({ event_id }) => event_id);
  const ofEvent = await list("--event", event ?? "");
  expect(ofEvent).toEqual(all.filter(({ event_id }) => event_id === event));
  const failed = await list("--event", event ?? "", "--failed", "--webhook", "Failing");
  expect(failed.map(({ attempt }) => attempt)).toEqual([3, 2, 1]);
  expect(await list("--event", event ?? "", "--message", messages[0] ?? "")).toEqual([]);
  expect(await list("--type", "message.updated")).toHaveLength(1);
});

test("a time or a span bounds the list", async () => {
  const middle = all.at(-3)?.created_at ?? "";
  const older = await list("--until", middle, "--limit", "100");
  const newer = await list("--since", middle, "--limit", "100");
  expect(older.every(({ created_at }) => (created_at ?? "") <= middle)).toBe(true);
  expect(newer.every(({ created_at }) => (created_at ?? "") >= middle)).toBe(true);
  expect(new Set([...older, ...newer].map(({ id }) => id)).size).toBe(all.length);
  expect(await list("--since", "1h", "--limit", "100")).toEqual(all);
  expect(await list("--until", "1h")).toEqual([]);
  const { status, stderr } = await run(stage.dataDir, ["deliveries", "list", "--since", "yesterday"]);
  expect(status).toBe(2);
  expect(stderr).toContain("It takes a number and a unit");
});

test("following refuses an end that lies in the past", async () => {
  const { status, stderr } = await run(stage.dataDir, ["deliveries", "list", "--follow", "--until", "1h"]);
  expect(status).toBe(2);
  expect(stderr).toContain("--follow waits for what is to come: leave --until out.");
});

test("the end of an id, as the list shows it on a terminal, stands for the whole id", async () => {
  const [newest] = all;
  const id = newest?.id ?? "";
  await using screen = onTerminal(stage.dataDir, ["deliveries", "list", "--limit", "100"]);
  expect(await screen.ended()).toBe(0);
  expect(screen.text).toMatch(new RegExp(` ${id.slice(-8)}$`, "m"));
  expect(screen.text).not.toContain(id);
  for (const line of screen.text.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
  expect(screen.raw).toContain("\u001b[31m");
  expect(screen.raw).toContain("\u001b[32m");

  for (const part of [id.slice(-8), id.slice(0, -2), id])
    expect(await runJson(stage.dataDir, ["deliveries", "show", part])).toMatchObject({ id });
  const { event_id, webhook_id } = newest ?? { event_id: "", webhook_id: "" };
  const ofEvent = await list("--event", event_id);
  expect(await list("--event", event_id.slice(-8))).toEqual(ofEvent);
  expect(await list("--event", event_id.slice(0, 30))).toEqual(ofEvent);
  const shown = await runJson(stage.dataDir, ["webhooks", "show", webhook_id.slice(-8)]);
  expect(shown).toMatchObject({ id: webhook_id });
  const ofChannel = await runJson(stage.dataDir, ["channels", "show", channel.id.slice(-8)]);
  expect(ofChannel).toMatchObject({ id: channel.id });
});

test("the start that all ids of a minute share is refused, with the candidates", async () => {
  const start = (all[0]?.id ?? "").slice(0, 6);
  for (const [args, noun] of [
    [["deliveries", "show", start], "attempt"],
    [["deliveries", "list", "--event", start], "event"],
    [["deliveries", "list", "--message", start], "message"],
    [["webhooks", "show", start], "subscription"],
  ] as const) {
    const { status, message } = await runRefused(stage.dataDir, args);
    expect(status).toBe(1);
    expect(message).toStartWith(`More than one ${noun} has an id that begins or ends with "${start}".`);
    expect(message).toContain(noun === "subscription" ? `${sound.subscription.id} (Sound)` : start);
  }
});

test("an id of another team is unknown, whole or in part", async () => {
  const other = await stage.workspace.team("Other");
  const [{ id, event_id } = { id: "", event_id: "" }] = all;
  for (const part of [id, id.slice(-8)]) {
    const args = ["deliveries", "show", part, "--team", "other"];
    expect((await runRefused(stage.dataDir, args)).status, other.id).toBe(3);
  }
  for (const args of [
    ["--event", event_id],
    ["--event", event_id.slice(-8)],
    ["--message", messages[0] ?? ""],
  ])
    expect((await runRefused(stage.dataDir, ["deliveries", "list", ...args, "--team", "other"])).status).toBe(
      3,
    );
});
