import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lockFile } from "../../src/database/server-lock.ts";
import { DomainError } from "../../src/errors.ts";
import { selectKeyCheck, selectKeyRotation, upsertKeyRotation } from "../../src/secrets/store.ts";
import { findUnreadableSecrets } from "../../src/unreadable-secrets.ts";
import { linesUpToNow } from "../hostile/server-log.ts";
import { engine } from "../support/engine.ts";
import { run, runJson, runRefused } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { type Received, startReceiver } from "../support/receivers/receiver.ts";
import { parley } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import {
  digestOf,
  ingestDigest,
  signatureOf,
  startWebhookStage,
  type Subscribed,
  type WebhookStage,
} from "../support/webhook-stage.ts";

/** For one test, in milliseconds: each runs many commands and deliveries. */
const generousMs = 60_000;

const rotate = ["secrets", "rotate-key"];

type Outcome = {
  key: string;
  old_key: string;
  old_key_file: string | null;
  new_key_file: string | null;
  secrets: number;
  unreadable: number;
  resumed: boolean;
};

const keyOf = (stage: WebhookStage) => readFileSync(join(stage.dataDir, "secret.key"), "utf8");

/** The files in the data folder that hold keys. */
function keyFiles(stage: WebhookStage): string[] {
  return readdirSync(stage.dataDir)
    .filter((name) => name.startsWith("secret.key"))
    .toSorted();
}

/** What the servers of the stage have logged about secrets up to now. */
async function eventsAboutSecrets({ server }: WebhookStage): Promise<string[]> {
  const events = (await linesUpToNow(server)).map((line) => (JSON.parse(line) as { msg: string }).msg);
  return events.filter((event) => event.startsWith("secrets."));
}

/** Subscriptions to one receiver, each at an address of its own, and a signed incoming webhook. */
async function startPlayground(count: number) {
  // On a busy machine the receiver, which shares the test's process, may take its time.
  const stage = await startWebhookStage({ WEBHOOKS_TIMEOUT: "60" });
  const receiver = startReceiver();
  const channel = await stage.channel();
  // Before the subscriptions, which would hear that its bot joins the channel.
  const incoming = await stage.incoming(channel, { signed: true });
  const subscriptions = new Map<string, Subscribed>();
  for (let n = 0; n < count; n++) {
    const input = { name: `s${n}`, channel_ids: [channel.id], events: ["message.created"] };
    const subscription = await stage.subscribe({ url: `${receiver.url}/${n}` }, input);
    subscriptions.set(`/${n}`, subscription);
  }
  const body = '{"text":"signed"}';
  return {
    stage,
    receiver,
    channel,
    subscriptions,
    /** Posts through the signed webhook, which each subscription hears of. Returns the status. */
    async post(): Promise<number> {
      const headers = { "x-signature-256": ingestDigest(body, incoming.secret) };
      return (await stage.send(incoming.token, body, headers)).status;
    },
    /** Waits until each subscription has got as many deliveries, and expects that its secret verifies them all. */
    async delivered(each: number): Promise<void> {
      await until("all has arrived", () => receiver.requests.length >= each * count, {
        timeout_ms: generousMs,
      });
      for (const { id } of subscriptions.values()) await stage.drained({ id });
      const arrived = new Set(receiver.requests.map(({ path, headers }) => path + headers.get("webhook-id")));
      expect(arrived.size).toBe(each * count);
      const wrong = receiver.requests.filter((received) => !isSigned(received, secretOf(received)));
      expect(wrong).toEqual([]);
    },
    async [Symbol.asyncDispose]() {
      await receiver[Symbol.asyncDispose]();
      await stage[Symbol.asyncDispose]();
    },
  };

  function secretOf({ path }: Received): string {
    return subscriptions.get(path.slice(path.lastIndexOf("/")))?.secret ?? "";
  }
}

function isSigned(received: Received, secret: string): boolean {
  return signatureOf(received).digests.includes(digestOf(received, secret));
}

describe("rotating the key", () => {
  test(
    "while serving, every delivery and every signed post verifies with its secret throughout",
    async () => {
      await using playground = await startPlayground(60);
      const { stage, subscriptions } = playground;
      chmodSync(join(stage.dataDir, "secret.key"), 0o640);
      const before = keyOf(stage);

      let isRotating = true;
      let posts = 0;
      const posting = (async () => {
        while (isRotating) {
          expect(await playground.post()).toBe(202);
          await playground.delivered(++posts);
        }
      })();
      const outcomes: Outcome[] = [];
      for (let round = 0; round < 3; round++) outcomes.push(await runJson<Outcome>(stage.dataDir, rotate));
      isRotating = false;
      await posting;

      const [first] = outcomes;
      expect(first).toMatchObject({ secrets: 61, unreadable: 0, resumed: false, new_key_file: null });
      expect(readFileSync(first?.old_key_file ?? "", "utf8")).toBe(before);
      expect(keyFiles(stage)).toEqual(
        ["secret.key", ...outcomes.map(({ old_key }) => `secret.key.old-${old_key}`)].toSorted(),
      );
      for (const name of keyFiles(stage))
        expect(statSync(join(stage.dataDir, name)).mode & 0o777).toBe(0o640);
      const entries = await stage.audit("secrets.key_rotated");
      expect(entries.map(({ details }) => details.key)).toEqual(outcomes.map(({ key }) => key).toReversed());
      expect(JSON.stringify(entries)).not.toContain(keyOf(stage).trim());

      // What the server and a command encrypt from then on needs the new key alone, as does the next server.
      const [one] = subscriptions.values();
      const rotated = ["webhooks", "rotate-secret", one?.id ?? "", "--overlap", "1h", "--yes"];
      await runJson(stage.dataDir, rotated);
      await using listener = await stage.listen({ channel_ids: [playground.channel.id] });
      await stage.restart();
      expect(await eventsAboutSecrets(stage)).toEqual([]);
      expect(await playground.post()).toBe(202);
      await playground.delivered(posts + 1);
      const [last] = await listener.delivered();
      expect(last).toMatchObject({ type: "message.created" });
      const [received] = listener.receiver.requests;
      expect(received && isSigned(received, listener.subscription.secret)).toBe(true);

      // The previous secret of an overlap, which still signs, is encrypted anew like all others.
      expect(await runJson<Outcome>(stage.dataDir, rotate)).toMatchObject({ secrets: 63, unreadable: 0 });
      expect(await playground.post()).toBe(202);
      await playground.delivered(posts + 2);
    },
    generousMs,
  );

  test(
    "killed at any moment leaves every secret readable, and the next call finishes it",
    async () => {
      await using playground = await startPlayground(120);
      const { stage } = playground;
      const isUnfinished = async () => (await stage.database.ask(selectKeyRotation)) !== undefined;
      let posts = 0;
      for (let kill = 0; kill < 15; kill++) {
        const command = Bun.spawn([parley, "--data-dir", stage.dataDir, ...rotate], {
          stdio: ["ignore", "ignore", "ignore"],
        });
        await Bun.sleep(Math.random() * 200);
        command.kill("SIGKILL");
        await command.exited;
        expect(await stage.database.ask((db) => findUnreadableSecrets(db, stage.vault))).toBeUndefined();
        expect(await playground.post()).toBe(202);
        posts++;
      }
      await playground.delivered(posts);
      // A server that starts in the middle reads everything, too, and says what is left to do.
      const wasUnfinished = await isUnfinished();
      await stage.restart();
      expect(await eventsAboutSecrets(stage)).toEqual(wasUnfinished ? ["secrets.rotation_unfinished"] : []);
      expect(await playground.post()).toBe(202);

      const outcome = await runJson<Outcome>(stage.dataDir, rotate);
      expect(outcome).toMatchObject({ secrets: 121, unreadable: 0 });
      expect(await isUnfinished()).toBe(false);
      expect(keyFiles(stage)).not.toContain("secret.key.new");
      expect(await playground.post()).toBe(202);
      await playground.delivered(posts + 2);
    },
    generousMs,
  );

  test(
    "interrupted after its key has taken the old one's place is finished, and changes to no other",
    async () => {
      await using stage = await startWebhookStage();
      await using _listener = await stage.listen();
      using folder = temporaryFolder();
      const passphrase = join(folder.path, "passphrase");
      writeFileSync(passphrase, "correct horse battery staple", { mode: 0o600 });
      const done = await runJson<Outcome>(stage.dataDir, rotate);
      const key = keyOf(stage);
      const newCheckValue = (await stage.database.ask(selectKeyCheck)) ?? Buffer.alloc(0);
      const begun = { oldCheckValue: randomBytes(32), newCheckValue, startedAt: 0, startedBy: "cli:test" };
      await stage.database.write((tx) => upsertKeyRotation(tx, begun));
      // One key would not open everything in a backup of this moment.
      const sealing = ["backup", join(folder.path, "backup"), "--passphrase-file", passphrase];
      const refusal = engine === "sqlite" ? "parley secrets rotate-key" : "Use pg_dump";
      expect((await runRefused(stage.dataDir, sealing)).message).toContain(refusal);
      expect(await runJson<Outcome>(stage.dataDir, rotate)).toMatchObject({ key: done.key, resumed: true });
      expect(await run(stage.dataDir, sealing)).toMatchObject({ status: engine === "sqlite" ? 0 : 1 });
      expect(keyOf(stage)).toBe(key);
    },
    generousMs,
  );

  test(
    "is refused with another key than the workspace's, and while another rotation runs",
    async () => {
      await using stage = await startWebhookStage();
      await using _listener = await stage.listen();
      {
        const taken = () => new DomainError("conflict", "taken");
        using _lock = lockFile(join(stage.dataDir, "rotation.lock"), taken);
        const { status, message } = await runRefused(stage.dataDir, rotate);
        expect({ status, message }).toMatchObject({
          status: 1,
          message: expect.stringMatching(/^Another command/),
        });
      }
      const foreign = randomBytes(32).toString("base64");
      const files = keyFiles(stage);
      for (const environment of [{ PARLEY_SECRET_KEY: foreign }, {}]) {
        if (!("PARLEY_SECRET_KEY" in environment)) writeFileSync(join(stage.dataDir, "secret.key"), foreign);
        const { status, stderr } = await run(stage.dataDir, rotate, environment);
        expect(status).toBe(1);
        expect(stderr).toMatch(/not the key that the server|does not hold the key of this workspace/);
      }
      expect(keyFiles(stage)).toEqual(files);
    },
    generousMs,
  );

  test(
    "that the settings give takes the new key from a file, and waits until the settings have it",
    async () => {
      const [oldKey, newKey] = [randomBytes(32).toString("base64"), randomBytes(32).toString("hex")];
      await using stage = await startWebhookStage({ PARLEY_SECRET_KEY: oldKey });
      await using listener = await stage.listen();
      const own = keyOf(stage);
      const settings = { PARLEY_SECRET_KEY: oldKey };
      const refused = await run(stage.dataDir, rotate, settings);
      expect(refused.status).toBe(2);
      expect(refused.stderr).toContain("rotate-key --new-key-file FILE");

      using folder = temporaryFolder();
      const file = join(folder.path, "new.key");
      writeFileSync(file, `${newKey}\n`, { mode: 0o600 });
      const done = await run(stage.dataDir, [...rotate, "--new-key-file", file, "--json"], settings);
      expect(done).toMatchObject({ status: 0 });
      const { data } = JSON.parse(done.stdout) as { data: Outcome };
      expect(data).toMatchObject({ old_key_file: null, new_key_file: join(stage.dataDir, "secret.key.new") });
      expect(keyOf(stage)).toBe(own);
      await stage.post(await stage.channel());
      const { id } = listener.subscription;
      await stage.drained({ id });

      for (const [key, isWaiting] of [
        [oldKey, true],
        [newKey, false],
      ] as const) {
        await stage.restart({ PARLEY_SECRET_KEY: key });
        expect(existsSync(join(stage.dataDir, "secret.key.new"))).toBe(isWaiting);
        expect(await eventsAboutSecrets(stage)).toEqual([]);
        await stage.post(await stage.channel());
        await stage.drained({ id });
      }
      const { requests } = listener.receiver;
      expect(requests.filter((received) => !isSigned(received, listener.subscription.secret))).toEqual([]);
      expect(requests.filter(({ text }) => text.includes("message.created"))).toHaveLength(3);
      const next = await run(stage.dataDir, [...rotate, "--new-key-file", file], {
        PARLEY_SECRET_KEY: newKey,
      });
      expect(next.stderr).toContain("That is the key in use");
    },
    generousMs,
  );
});
