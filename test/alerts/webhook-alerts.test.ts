import { expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import { run, runJson, runRefused } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { rowsOf } from "../support/data.ts";
import { type Listener, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

/** One attempt fails at once, and the next one is far away. */
const slowly = { WEBHOOKS_BACKOFF_BASE: "3600" };
const minuteMs = 60_000;

/** A team that is told in a channel, and a subscription whose receiver fails while `isFailing` says so. */
async function startAlerted() {
  const stage = await startWebhookStage(slowly);
  const ops = await stage.channel();
  const elsewhere = await stage.channel();
  const state = { isFailing: true };
  const input = { name: "Deploys", events: ["message.created"], channel_ids: [elsewhere.id] };
  const listener = await stage.listen(
    input,
    () => new Response(null, { status: state.isFailing ? 500 : 204 }),
  );
  await runJson(stage.dataDir, ["teams", "notify", "--channel", ops.id]);
  return {
    stage,
    ops,
    elsewhere,
    listener,
    state,
    [Symbol.asyncDispose]: async () => {
      await listener[Symbol.asyncDispose]();
      await stage[Symbol.asyncDispose]();
    },
  };
}

/** What Parley has said in the channel, oldest first. */
async function said(stage: WebhookStage, channel: ChannelRow): Promise<string[]> {
  const messages = await stage.messages(channel);
  expect(new Set(messages.map(({ author }) => author.name))).toEqual(
    new Set(messages.length > 0 ? ["Parley"] : []),
  );
  return messages.map(({ body }) => body).reverse();
}

async function saidSoMany(stage: WebhookStage, channel: ChannelRow, count: number): Promise<string[]> {
  await until(`${count} messages are posted`, async () => (await said(stage, channel)).length >= count);
  return await said(stage, channel);
}

/** Waits for the first failure and lets so many minutes pass over it. */
async function failedFor(stage: WebhookStage, { subscription }: Listener, minutes: number): Promise<void> {
  const hasFailed = async () => (await stage.shown(subscription)).consecutive_failures > 0;
  await until("the attempt has failed", hasFailed);
  await rowsOf(stage.dataDir, "UPDATE attempts SET created_at = created_at - ?", minutes * minuteMs);
}

test("a team is told once that a webhook fails, that it is disabled, and that it works again", async () => {
  await using alerted = await startAlerted();
  const { stage, ops, elsewhere, listener, state } = alerted;
  const { id } = listener.subscription;
  await stage.post(elsewhere);
  await failedFor(stage, listener, 9);
  await stage.restart(slowly);
  await failedFor(stage, listener, 2);
  await stage.restart(slowly);
  const failing =
    "The webhook “Deploys” has failed for more than 10 minutes: the receiver answered 500. " +
    `What it does: parley webhooks show ${id}`;
  expect(await saidSoMany(stage, ops, 1)).toEqual([failing]);

  await stage.disable(listener.subscription);
  await stage.restart(slowly);
  const disabled =
    "The webhook “Deploys” was disabled after 1 failed attempt in a row. Its events wait until it is enabled: " +
    `parley webhooks enable ${id}`;
  expect(await saidSoMany(stage, ops, 2)).toEqual([failing, disabled]);

  state.isFailing = false;
  await stage.enable(listener.subscription);
  await stage.drained(listener.subscription);
  await stage.restart(slowly);
  const works = "The webhook “Deploys” works again.";
  expect(await saidSoMany(stage, ops, 3)).toEqual([failing, disabled, works]);

  await stage.restart(slowly);
  // A stop waits for what is being said, so a further message would come before that of the next disabling.
  await stage.stop();
  await stage.disable(listener.subscription);
  await stage.restart(slowly);
  expect((await saidSoMany(stage, ops, 4)).slice(0, 3)).toEqual([failing, disabled, works]);
}, 60_000);

test("a webhook that fails on what is said about it gets no further message within a day", async () => {
  await using alerted = await startAlerted();
  const { stage, ops, elsewhere, listener, state } = alerted;
  await stage.post(elsewhere);
  await failedFor(stage, listener, 11);
  await stage.restart(slowly);
  await saidSoMany(stage, ops, 1);
  state.isFailing = false;
  await stage.disable(listener.subscription);
  await stage.enable(listener.subscription);
  await stage.drained(listener.subscription);
  await stage.restart(slowly);
  await saidSoMany(stage, ops, 2);

  state.isFailing = true;
  await stage.post(elsewhere);
  await rowsOf(stage.dataDir, "UPDATE alerts_said SET at = at - ?", 60 * minuteMs);
  await rowsOf(
    stage.dataDir,
    "UPDATE subscriptions SET last_success_at = last_success_at - ?",
    60 * minuteMs,
  );
  await failedFor(stage, listener, 11);
  await stage.restart(slowly);
  // A stop waits for what is being said.
  await stage.stop();
  await stage.disable(listener.subscription);
  await stage.restart(slowly);
  expect((await saidSoMany(stage, ops, 3))[2]).toContain("was disabled");
}, 60_000);

test("the channel can be asked for, changed and switched off", async () => {
  await using stage = await startWebhookStage();
  const [one, other] = [await stage.channel(), await stage.channel()];
  const notify = async (...args: string[]) => (await run(stage.dataDir, ["teams", "notify", ...args])).stdout;
  const members = async ({ id }: ChannelRow) => {
    const rows = await runJson<Array<{ name: string }>>(stage.dataDir, ["channels", "members", id]);
    return rows.map(({ name }) => name);
  };
  expect(await notify()).toContain("no channel is set");
  expect(await notify("--channel", one.slug)).toContain(`Parley posts in #${one.slug}`);
  expect(await members(one)).toContain("Parley");
  expect(await notify("--channel", other.slug)).toContain(`Parley posts in #${other.slug}`);
  expect([await members(one), await members(other)].map((names) => names.includes("Parley"))).toEqual([
    false,
    true,
  ]);
  await runJson(stage.dataDir, ["channels", "archive", other.id, "--yes"]);
  expect(await notify()).toContain(`cannot post in #${other.slug}: the channel ${other.name} is archived`);
  const { stdout } = await run(stage.dataDir, ["doctor", "--json"]);
  const { data } = JSON.parse(stdout) as { data: Array<{ check: string; state: string; found: string }> };
  const found = `The team acme is told nothing: the channel ${other.name} is archived.`;
  expect(data.find(({ check }) => check === "alerts")).toMatchObject({ state: "warning", found });
  expect(await notify("--off")).toContain("any more");
  expect(await notify("--off")).toContain("Nothing was posted");
  expect(await notify()).toContain("no channel is set");
  const actions = [...(await stage.audit("team.alerts_set")), ...(await stage.audit("team.alerts_ended"))];
  expect(actions.map(({ action }) => action)).toEqual([
    "team.alerts_set",
    "team.alerts_set",
    "team.alerts_ended",
  ]);
  await runRefused(stage.dataDir, ["teams", "notify", "--off", "--channel", one.id]);
}, 60_000);
