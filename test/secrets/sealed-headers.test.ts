import { describe, expect, test } from "bun:test";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createKeyFile } from "../../src/secrets/key-file.ts";
import { run, runJson } from "../support/cli.ts";
import { rowsOf } from "../support/data.ts";
import { testOnSqlite } from "../support/on-sqlite.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

/** For one test, in milliseconds: each starts several programs. */
const generousMs = 60_000;

const keyFileOf = ({ dataDir }: WebhookStage) => join(dataDir, "secret.key");
const headers = { "x-one": "first value", "x-two": "second value" };
const events = ["message.created"];

/** Lets the commands deliver to this machine as well. */
function allowThisMachine(dataDir: string): void {
  writeFileSync(join(dataDir, "parley.toml"), "webhooks_block_private_urls = false\n");
}

/** The lines of the server's log that say why a subscription's deliveries wait. */
function waitingLines(stage: WebhookStage): string[] {
  return stage.server.logLines().filter((line) => line.includes("webhook.secret_unreadable"));
}

test(
  "rotating the key encrypts headers anew, and they are sent with every delivery",
  async () => {
    await using stage = await startWebhookStage();
    const channel = await stage.channel();
    await using listener = await stage.listen({ events, channel_ids: [channel.id], headers });
    const { id } = listener.subscription;
    await stage.disable({ id });
    await stage.post(channel);
    // Without keys from before, once the old one's file is gone.
    const { secrets, old_key_file } = await runJson<{ secrets: number; old_key_file: string }>(
      stage.dataDir,
      ["secrets", "rotate-key"],
    );
    expect(secrets).toBe(2);
    rmSync(old_key_file);
    await stage.enable({ id });
    await stage.drained({ id });
    await stage.restart();
    await stage.post(channel);
    await stage.drained({ id });
    const sent = listener.receiver.requests.map((request) => request.headers.get("x-two"));
    expect(sent).toEqual(["second value", "second value"]);
  },
  generousMs,
);

testOnSqlite("a restored backup sends them, with the key that was sealed in it", async () => {
  await using stage = await startWebhookStage();
  await using receiver = startReceiver();
  await stage.subscribe(receiver, { events, headers });
  using folder = temporaryFolder();
  const inFolder = (name: string) => join(folder.path, name);
  const opening = ["--passphrase-file", inFolder("passphrase")];
  writeFileSync(inFolder("passphrase"), "correct horse battery staple");
  await runJson(stage.dataDir, ["backup", inFolder("acme.tar"), ...opening]);
  const restored = inFolder("restored");
  await runJson(restored, ["restore", inFolder("acme.tar"), ...opening, "--yes"]);
  allowThisMachine(restored);
  await runJson(restored, ["webhooks", "ping", "test"]);
  expect(receiver.requests.map((request) => request.headers.get("x-one"))).toEqual(["first value"]);
});

describe("without the key that they were encrypted with", () => {
  test(
    "deliveries wait, and go out with the headers once the key is back",
    async () => {
      await using stage = await startWebhookStage();
      const channel = await stage.channel();
      await using listener = await stage.listen({ events, channel_ids: [channel.id], headers });
      const { id } = listener.subscription;
      await stage.stop();
      const kept = join(stage.dataDir, "kept");
      renameSync(keyFileOf(stage), kept);
      await stage.restart();
      await stage.post(channel);
      await stage.server.logLine((line) => line.msg === "webhook.secret_unreadable");
      expect((await stage.api.patch(`/webhooks/${id}`, { name: "Renamed" })).status).toBe(200);
      expect((await stage.api.patch(`/webhooks/${id}`, { headers })).status).toBe(503);
      expect((await stage.api.patch(`/webhooks/${id}`, { headers: { "x-one": null } })).status).toBe(503);
      expect([await stage.queued({ id }), listener.receiver.requests]).toEqual([1, []]);
      await stage.stop();
      renameSync(kept, keyFileOf(stage));
      await stage.restart();
      await stage.drained({ id });
      const [request] = listener.receiver.requests;
      expect([request?.headers.get("x-one"), request?.headers.get("x-two")]).toEqual(Object.values(headers));
    },
    generousMs,
  );

  test(
    "and with a new secret, they wait for new headers, which a request can give",
    async () => {
      await using stage = await startWebhookStage();
      allowThisMachine(stage.dataDir);
      const channel = await stage.channel();
      await using listener = await stage.listen({ events, channel_ids: [channel.id], headers });
      const { id } = listener.subscription;
      await stage.stop();
      rmSync(keyFileOf(stage));
      createKeyFile(stage.dataDir);
      await stage.restart();
      await runJson(stage.dataDir, ["webhooks", "rotate-secret", id, "--yes"]);
      await stage.post(channel);
      const line = await stage.server.logLine(
        ({ msg, reason }) => msg === "webhook.secret_unreadable" && String(reason).includes("headers"),
      );
      expect(line.reason).toContain("give each header again, or remove it");
      const pinged = await run(stage.dataDir, ["webhooks", "ping", id]);
      expect([pinged.status, pinged.stderr]).toEqual([1, expect.stringContaining("headers cannot be read")]);
      const doctor = await run(stage.dataDir, ["doctor"]);
      expect(doctor.stdout).toContain("those of 1 subscription and 0 incoming webhooks");

      const one = await stage.api.patch(`/webhooks/${id}`, { headers: { "x-one": "another value" } });
      expect([one.status, one.json.message]).toEqual([
        503,
        expect.stringContaining("headers cannot be read"),
      ]);
      await stage.post(channel);
      const noted = waitingLines(stage).length;
      expect(await stage.queued({ id })).toBe(2);
      const both = { "x-one": "another value", "x-two": null };
      expect((await stage.api.patch(`/webhooks/${id}`, { headers: both })).status).toBe(200);
      await stage.drained({ id });
      const sent = listener.receiver.requests.map((request) => request.headers.get("x-one"));
      expect(sent).toEqual(["another value", "another value"]);
      expect(waitingLines(stage)).toHaveLength(noted);
    },
    generousMs,
  );
});

test("those of another subscription, or its secret in their place, cannot be sent", async () => {
  await using stage = await startWebhookStage();
  const channel = await stage.channel();
  const mine = { events, channel_ids: [channel.id], headers: { "x-mine": "mine" } };
  await using listener = await stage.listen(mine);
  const { id } = listener.subscription;
  const { id: theirs } = await stage.subscribe(
    { url: "http://127.0.0.1:9/" },
    { events: ["reaction.added"], headers },
  );
  const take = (column: string, from: string) =>
    rowsOf(
      stage.dataDir,
      `UPDATE subscriptions SET headers = (SELECT ${column} FROM subscriptions WHERE id = ?) WHERE id = ? RETURNING id`,
      from,
      id,
    );
  for (const [column, from, said] of [
    ["headers", theirs, 1],
    ["secret", id, 2],
  ] as const) {
    await stage.disable({ id });
    await take(column, from);
    await stage.post(channel);
    await stage.enable({ id });
    await stage.server.logLine(() => waitingLines(stage).length >= said);
    expect(await stage.queued({ id })).toBe(said);
  }
  expect(listener.receiver.requests).toEqual([]);
});
