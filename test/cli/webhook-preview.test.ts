import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import { postMessage } from "../../src/messages/messages.ts";
import type { Message } from "../../src/messages/schemas.ts";
import { subjectOf } from "../../src/users/users.ts";
import type { Preview } from "../../src/subscriptions/preview.ts";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { webhookEvents } from "../../src/event-types.ts";
import { apiClient, type ApiClient } from "../support/client.ts";
import { countOf } from "../support/data.ts";
import { onTerminal, runJson, runRefused } from "../support/cli.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

let stage: WebhookStage;
let owner: ApiClient;
let open: ChannelRow;
let secret: ChannelRow;
let direct: ChannelRow;
beforeAll(async () => {
  stage = await startWebhookStage({ INTEGRATIONS_API_RATE_LIMIT: "1000000" });
  owner = apiClient(stage.server.url, (await stage.workspace.token(stage.team.owner)).token);
  [open, secret] = [await stage.channel("public"), await stage.channel("private")];
  const friend = await stage.workspace.person(stage.team.id, "Friend");
  direct = await stage.workspace.direct(stage.team.owner, friend);
});
afterAll(async () => await stage[Symbol.asyncDispose]());

const json = <Data>(...args: string[]) => runJson<Data>(stage.dataDir, [...args, "--team", "acme"]);
const preview = (...args: string[]) => json<Preview>("webhooks", "create", "--preview", "1h", ...args);
const events = (...types: string[]) => types.flatMap((type) => ["--event", type]);

async function post(channel: ChannelRow, body: string): Promise<string> {
  const { json } = await owner.post<{ data: Message }>(`/channels/${channel.id}/messages`, { body });
  return json.data.id;
}

/** How many events of each type the subscription has received. */
async function receivedBy({ id }: { id: string }): Promise<Record<string, number>> {
  const { json } = await owner.get<{ data: Array<{ event: { type: string } }> }>(
    `/webhooks/${id}/events?limit=200`,
  );
  return Object.fromEntries(
    Map.groupBy(json.data, ({ event }) => event.type)
      .entries()
      .map(([type, found]) => [type, found.length]),
  );
}

test("a preview counts the events that a subscription for the same has received, and creates nothing", async () => {
  const asked = [...events(...webhookEvents), "--channel", open.id, "--channel", secret.id];
  const reading = await json<WebhookSubscription>("webhooks", "create", "--name", "all", "--pull", ...asked);
  const edited = await post(open, "to edit");
  await owner.patch(`/channels/${open.id}/messages/${edited}`, { body: "edited" });
  await owner.put(`/channels/${open.id}/messages/${edited}/reactions/👍`);
  await owner.put(`/channels/${open.id}/messages/${edited}/reactions/🎉`);
  const deleted = await post(secret, "to delete");
  await owner.del(`/channels/${secret.id}/messages/${deleted}`);
  const person = await stage.workspace.person(stage.team.id, "Newcomer");
  await owner.post(`/channels/${secret.id}/members`, { user_id: person.id });
  await post(direct, "elsewhere");

  const before = await countOf(stage.dataDir, "subscriptions");
  const seen = await preview(...asked);
  expect(seen.by_type).toEqual(await receivedBy(reading));
  expect(seen.by_type).toEqual({
    "message.created": 3,
    "message.updated": 1,
    "message.deleted": 1,
    "reaction.added": 2,
    "channel.member_added": 1,
  });
  expect(seen).toMatchObject({ events: 8, in_private_channels: 4, in_direct_messages: 0, is_cut: false });
  expect(await countOf(stage.dataDir, "subscriptions")).toBe(before);
});

test("only the types that are asked for are counted, with --pull too, and direct messages are named", async () => {
  await post(direct, "between us");
  const all = await preview("--pull", "--name", "x", ...events("message.deleted", "message.created"));
  expect(Object.keys(all.by_type).sort()).toEqual(["message.created", "message.deleted"]);
  expect(all.in_direct_messages).toBeGreaterThan(0);
  const none = await preview(...events("message.updated"), "--channel", direct.id);
  expect(none).toMatchObject({ events: 0, by_type: {}, sample: [] });
});

test("a sample shows the text of public channels alone", async () => {
  await post(open, "for everybody");
  await post(secret, "for few");
  await post(direct, "for one");
  const { sample } = await preview(...events("message.created"));
  expect(sample.slice(0, 3).map(({ text }) => text)).toEqual([null, null, "for everybody"]);
  expect(sample).toHaveLength(5);
  expect(sample[0]).toMatchObject({ event_type: "message.created", channel_id: direct.id });
});

test("nothing before the given time is counted, and nothing of another team", async () => {
  const other = await stage.workspace.team("Another team");
  await stage.workspace.message(other.general, other.owner, "of others");
  const { sample, messages_looked_at } = await preview(...events("message.created"));
  expect(sample.map(({ channel_id }) => channel_id)).not.toContain(other.general.id);
  expect(messages_looked_at).toBeLessThan(await countOf(stage.dataDir, "messages"));
  const foreign = [...events("message.created"), "--channel", other.general.id];
  const asked = ["webhooks", "create", "--team", "acme", "--preview", "7d", ...foreign];
  expect((await runRefused(stage.dataDir, asked)).status).toBe(3);
  const future = ["--preview", "2099-01-01", ...events("message.created")];
  expect(await json<Preview>("webhooks", "create", ...future)).toMatchObject({
    events: 0,
    messages_looked_at: 0,
  });
});

test("on a terminal of 80 columns it says what was found, what was looked at and what counts", async () => {
  await post(open, "Build 42\n\u001b[31mpassed ".padEnd(200, "."));
  const asked = [
    "webhooks",
    "create",
    "--team",
    "acme",
    "--preview",
    "7d",
    ...events("message.created", "reaction.added"),
  ];
  await using screen = onTerminal(stage.dataDir, asked);
  expect(await screen.ended()).toBe(0);
  for (const said of ["would have matched", "in private channels", "in direct messages", "for example"])
    expect(screen.text).toContain(said);
  expect(screen.text).toContain("looked at");
  expect(screen.text).toContain("Build 42");
  expect(screen.text).toContain("Nothing was created.");
  expect(screen.raw).not.toContain("\u001b[31mpassed");
  for (const line of screen.text.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
});

test("a preview without events to ask for, of an unknown channel or with a secret is refused", async () => {
  const refused = async (...more: string[]) =>
    await runRefused(stage.dataDir, ["webhooks", "create", "--team", "acme", "--preview", "7d", ...more]);
  expect((await refused()).status).toBe(2);
  expect((await refused(...events("message.created"), "--secret-stdin")).status).toBe(2);
  await refused(...events("message.created"), "--channel", "no-such-channel");
});

test("of more than 10,000 messages only the newest are looked at, and it says so", async () => {
  for (let round = 0; round < 10; round++) {
    await stage.workspace.database.write((tx) => {
      for (let n = 0; n < 1_000; n++)
        postMessage(tx, subjectOf(stage.team.owner), open.id, { body: "one more" });
    });
  }
  const seen = await preview(...events("message.created"));
  expect(seen).toMatchObject({ is_cut: true, events: 10_000, messages_looked_at: 10_000 });
});
