import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { replay } from "../../src/deliveries/replay.ts";
import { createIncomingWebhook } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { rotateIncomingSecret } from "../../src/incoming-webhooks/rotation.ts";
import { createKeyFile } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { rotateSecret } from "../../src/subscriptions/secrets.ts";
import { createSubscription } from "../../src/subscriptions/subscriptions.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace } from "../support/workspace.ts";
import {
  digestOf,
  ingestDigest,
  signatureOf,
  startWebhookStage,
  type WebhookStage,
  refusalOf,
} from "../support/webhook-stage.ts";

const body = '{"text":"hello"}';

const keyFileOf = (stage: WebhookStage) => join(stage.dataDir, "secret.key");
/** Out of the way of the server. */
const keptFileOf = (stage: WebhookStage) => join(stage.dataDir, "kept");

/** What can become of the key while the server is down, and the word for it in the log. */
const losses: Array<[string, (stage: WebhookStage) => Record<string, string>, RegExp]> = [
  [
    "is missing",
    (stage) => {
      renameSync(keyFileOf(stage), keptFileOf(stage));
      return {};
    },
    /missing/,
  ],
  [
    "is another one",
    (stage) => {
      renameSync(keyFileOf(stage), keptFileOf(stage));
      createKeyFile(stage.dataDir);
      return {};
    },
    /cannot be read with this key/,
  ],
  [
    "is overruled by another one in PARLEY_SECRET_KEY",
    (stage) => {
      renameSync(keyFileOf(stage), keptFileOf(stage));
      return { PARLEY_SECRET_KEY: randomBytes(32).toString("hex") };
    },
    /cannot be read with this key/,
  ],
];

function bringBack(stage: WebhookStage): void {
  renameSync(keptFileOf(stage), keyFileOf(stage));
}

describe.each(losses)("when the key %s", (what, lose, reason) => {
  const isOther = what !== "is missing";

  test("the server says so, goes on with all that needs no secret, and loses no event", async () => {
    await using stage = await startWebhookStage();
    const channel = await stage.channel();
    const [unsigned, signed] = [
      await stage.incoming(channel),
      await stage.incoming(channel, { signed: true }),
    ];
    await using listener = await stage.listen({ channel_ids: [channel.id], events: ["message.created"] });
    await stage.stop();
    await stage.restart(lose(stage));

    // It says so when it starts, with what to do about it.
    const line = await stage.server.logLine((entry) => entry.msg === "secrets.unreadable");
    expect(line).toMatchObject({ level: 50, subscriptions: 1, incoming_webhooks: 1 });
    expect(line.reason).toMatch(reason);
    expect(line.reason).toContain("secret.key");

    const changed = stage.server.logLines().some((entry) => entry.includes("secrets.key_changed"));
    expect(changed).toBe(isOther);

    // Signed requests are refused, whatever their signature, and post nothing; unsigned ones are taken.
    const before = await stage.messages(channel);
    for (const headers of [{}, { "x-signature-256": ingestDigest(body, signed.secret) }]) {
      const answer = await stage.send(signed.token, body, headers);
      expect(answer.status).toBe(503);
      expect(answer.json.message).toMatch(reason);
    }
    expect(await stage.messages(channel)).toEqual(before);
    expect((await stage.send(unsigned.token, body)).status).toBe(202);
    await stage.post(channel, "through the API");

    // The subscription stays active and says once in the log why nothing arrives; what it was to get waits.
    const { id } = listener.subscription;
    const noted = () =>
      stage.server.logLines().filter((entry) => entry.includes("webhook.secret_unreadable"));
    const unreadable = await stage.server.logLine((entry) => entry.msg === "webhook.secret_unreadable");
    expect(unreadable).toMatchObject({ level: 50, webhook: id, reason: expect.stringMatching(reason) });
    for (const text of ["one more", "and another"]) await stage.post(channel, text);
    expect(await stage.shown({ id })).toMatchObject({
      status: "active",
      consecutive_failures: 0,
      deliveries: [],
    });
    expect(await stage.queued({ id })).toBe(4);
    expect(noted()).toHaveLength(1);
    expect(listener.receiver.requests).toEqual([]);

    // With the key back it gets all of it, and what comes after.
    await stage.stop();
    rmSync(keyFileOf(stage), { force: true });
    bringBack(stage);
    await stage.restart();
    expect(
      (await stage.send(signed.token, body, { "x-signature-256": ingestDigest(body, signed.secret) })).status,
    ).toBe(202);
    await stage.post(channel, "after it all");
    const texts = (await listener.delivered()).map(({ data }) => String(data.body)).toSorted();
    const expected = ["hello", "hello", "through the API", "one more", "and another", "after it all"];
    expect(texts).toEqual(expected.toSorted());
    const request = await listener.receiver.nth(1);
    expect(signatureOf(request).digests).toEqual([digestOf(request, listener.subscription.secret)]);
  });
});

describe("when the key is lost for good", () => {
  test("a new one and new secrets bring everything back, and what waited goes out under the new secret", async () => {
    await using stage = await startWebhookStage();
    const channel = await stage.channel();
    const hook = await stage.incoming(channel, { signed: true });
    await using listener = await stage.listen({ channel_ids: [channel.id], events: ["message.created"] });
    await stage.stop();
    rmSync(keyFileOf(stage));
    createKeyFile(stage.dataDir);
    await stage.restart();
    await stage.post(channel, "waits");
    const { id } = listener.subscription;
    await stage.server.logLine((entry) => entry.msg === "webhook.secret_unreadable");

    const { vault } = stage;
    const rotate = (overlapMs: number) =>
      stage.database.write((tx) => rotateSecret(tx, vault, stage.team.id, id, overlapMs, actor));
    expect(await refusalOf(rotate(60_000))).toMatch(/without an overlap/);
    const rotated = await rotate(0);
    const resigned = await stage.database.write((tx) =>
      rotateIncomingSecret(tx, vault, stage.team.id, hook.id, actor),
    );
    const request = await listener.receiver.nth(1);
    expect(signatureOf(request).digests).toEqual([digestOf(request, rotated.secret)]);
    const headers = { "x-signature-256": ingestDigest(body, resigned.secret) };
    expect((await stage.send(hook.token, body, headers)).status).toBe(202);
  });
});

describe("a command with another key than the server's", () => {
  test("keeps no secret, says which setting to mend, and changes nothing", async () => {
    await using stage = await startWebhookStage();
    const channel = await stage.channel();
    await using listener = await stage.listen();
    const hook = await stage.incoming(channel, { signed: true });
    const bot = await stage.bot(channel);
    const { database, team } = stage;
    const log = { warn: () => {} };
    const parts = { database, guard: { blockPrivate: false }, log, maxSubscriptions: 1_000 };
    const input = { name: "CI", url: listener.receiver.url, events: ["message.created"] };
    const named = { name: "CI", signed: true };

    const foreign = new Vault(randomBytes(32));
    const refusals = [
      createSubscription({ ...parts, vault: foreign }, team.id, input, actor),
      database.write((tx) => rotateSecret(tx, foreign, team.id, listener.subscription.id, 0, actor)),
      database.write((tx) => createIncomingWebhook(tx, foreign, { bot, channel }, named, actor)),
      database.write((tx) => rotateIncomingSecret(tx, foreign, team.id, hook.id, actor)),
    ].map(refusalOf);
    for (const refusal of await Promise.all(refusals)) {
      expect(refusal).toMatch(/not the key that the server.*PARLEY_SECRET_KEY.*secret\.key/);
    }
    expect((await stage.api.get<{ data: unknown[] }>("/webhooks")).json.data).toHaveLength(1);
    const headers = { "x-signature-256": ingestDigest(body, hook.secret) };
    expect((await stage.send(hook.token, body, headers)).status).toBe(202);
    const request = await listener.receiver.nth(1);
    expect(signatureOf(request).digests).toEqual([digestOf(request, listener.subscription.secret)]);
  });

  test("is refused from the first secret on, before any server has started", async () => {
    using folder = temporaryFolder();
    await using workspace = await openWorkspace(folder.path);
    const { general, id: teamId } = await workspace.team("Acme");
    const [first, other] = [new Vault(randomBytes(32)), new Vault(randomBytes(32))];
    const create = async (vault: Vault, name: string) => {
      const bot = await workspace.bot(teamId, name, [general]);
      const input = { name, signed: true };
      return await workspace.database.write((tx) =>
        createIncomingWebhook(tx, vault, { bot, channel: general }, input, actor),
      );
    };
    await create(first, "one");
    expect(await refusalOf(create(other, "two"))).toMatch(/not the key/);
    await create(first, "three");
  });
});

describe("without a key", () => {
  test("no secret can be made or used: each is refused in clear words, and nothing is changed", async () => {
    await using stage = await startWebhookStage();
    const channel = await stage.channel();
    await using listener = await stage.listen({ channel_ids: [channel.id], events: ["message.created"] });
    await stage.post(channel);
    await stage.drained(listener.subscription);
    const [attempt] = (await stage.shown(listener.subscription)).deliveries;
    const list = (await stage.api.get("/webhooks")).json;
    await stage.stop();
    rmSync(keyFileOf(stage));
    await stage.restart();

    const answer = await stage.api.post("/webhooks", {
      name: "CI",
      url: listener.receiver.url,
      events: ["message.created"],
    });
    expect(answer).toMatchObject({
      status: 503,
      json: { message: expect.stringMatching(/key file is missing/) },
    });
    expect((await stage.api.get("/webhooks")).json).toEqual(list);
    expect(await refusalOf(stage.incoming(channel, { signed: true }))).toMatch(/key file is missing/);
    const outgoing = { guard: { blockPrivate: false }, timeoutMs: 500 };
    const parts = { database: stage.database, vault: stage.vault, outgoing };
    expect(await refusalOf(replay(parts, stage.team.id, attempt?.id ?? "", actor))).toMatch(
      /key file is missing/,
    );
    expect((await stage.shown(listener.subscription)).deliveries).toHaveLength(1);
    expect(listener.receiver.requests).toHaveLength(1);
  });

  test("a server whose workspace has no secret yet starts without a word about it", async () => {
    await using stage = await startWebhookStage();
    await stage.incoming(await stage.channel());
    await stage.stop();
    rmSync(keyFileOf(stage));
    await stage.restart();
    await stage.server.logLine((line) => line.msg === "server.started");
    expect(stage.server.logLines().join("\n")).not.toContain("secrets.unreadable");
  });
});

describe("the key file", () => {
  test("belongs to its owner alone", async () => {
    await using stage = await startWebhookStage();
    expect(statSync(keyFileOf(stage)).mode & 0o777).toBe(0o600);
  });

  test("that holds no key stops the start with a line that names it and not what is in it", async () => {
    await using stage = await startWebhookStage();
    await stage.stop();
    writeFileSync(keyFileOf(stage), "not-a-key-at-all");
    const refusal = await refusalOf(stage.restart());
    expect(refusal).toMatch(/secret\.key does not hold a key/);
    expect(refusal).not.toContain("not-a-key-at-all");
  });

  test("is not needed where PARLEY_SECRET_KEY holds the key", async () => {
    await using stage = await startWebhookStage();
    const channel = await stage.channel();
    const hook = await stage.incoming(channel, { signed: true });
    const key = (await Bun.file(keyFileOf(stage)).text()).trim();
    await stage.stop();
    rmSync(keyFileOf(stage));
    await stage.restart({ PARLEY_SECRET_KEY: key });
    const headers = { "x-signature-256": ingestDigest(body, hook.secret) };
    expect((await stage.send(hook.token, body, headers)).status).toBe(202);
    expect(stage.server.logLines().join("\n")).not.toContain(key);
  });
});
