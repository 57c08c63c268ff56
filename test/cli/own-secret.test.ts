import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../support/cli.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { digestOf, signatureOf, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: "3600" });
  // The commands need to know too that receivers may stand on this machine.
  writeFileSync(join(stage.dataDir, "parley.toml"), "webhooks_block_private_urls = false\n");
});
afterAll(async () => {
  await stage[Symbol.asyncDispose]();
});

const secretOf = (bytes: Uint8Array) => `whsec_${Buffer.from(bytes).toString("base64")}`;
const randomSecret = (length = 32) => secretOf(crypto.getRandomValues(new Uint8Array(length)));

/** Runs the command with the text on its standard input. */
async function given(text: string, ...args: string[]) {
  return await run(stage.dataDir, ["webhooks", ...args], {}, process.cwd(), new Blob([text]));
}

function createArgs(name: string, url: string): string[] {
  return ["create", "--name", name, "--url", url, "--event", "message.created", "--secret-stdin"];
}

test("a subscription signs with the secret from standard input, which no command prints", async () => {
  await using receiver = startReceiver();
  const [first, second] = [randomSecret(24), randomSecret(64)];
  const made = await given(`${first}\n`, ...createArgs("Own", receiver.url), "--json");
  expect(made.status, made.stdout).toBe(0);
  await given("", "ping", "Own");
  const rotate = ["rotate-secret", "Own", "--secret-stdin", "--overlap", "24h", "--yes"];
  const rotated = await given(second, ...rotate);
  expect(rotated.status, rotated.stderr).toBe(0);
  await given("", "ping", "Own");

  const [alone, both] = await receiver.received(2);
  if (!alone || !both) throw new Error("two pings came");
  expect(signatureOf(alone).digests).toEqual([digestOf(alone, first)]);
  expect(signatureOf(both).digests).toEqual([second, first].map((secret) => digestOf(both, secret)));
  const audit = await run(stage.dataDir, ["audit", "list", "--json"]);
  const printed = [made, rotated, audit].map(({ stdout, stderr }) => stdout + stderr).join("");
  for (const secret of [first, second]) expect(printed).not.toContain(secret.slice("whsec_".length));
});

test.each([
  ["without its prefix", randomSecret().slice("whsec_".length), "must begin with whsec_"],
  ["without its padding", randomSecret(32).slice(0, -1), "must be padded base64"],
  ["with a character that is not base64", `whsec_${"p4ssw*rd".repeat(6)}`, "must be padded base64"],
  ["with a line break in it", `${randomSecret(24)}\r\nX-Injected: yes`, "must be padded base64"],
  ["that is too short", randomSecret(23), "must hold 24 to 64 bytes"],
  ["that is too long", randomSecret(65), "must hold 24 to 64 bytes"],
  ["that repeats itself", secretOf(new Uint8Array(32)), "repeats itself"],
])("a secret %s is refused without being quoted, and nothing changes", async (_what, text, reason) => {
  await using receiver = startReceiver();
  const { status, stdout, stderr } = await given(text, ...createArgs("Refused", receiver.url));
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toContain(reason);
  expect(stderr).not.toContain(text.slice(-20));
  expect((await run(stage.dataDir, ["webhooks", "list", "--json"])).stdout).not.toContain("Refused");
});

test("a secret that waits for its proof is not replaced by the one given with the proof", async () => {
  await using receiver = startReceiver();
  expect((await given(randomSecret(), ...createArgs("Proving", receiver.url))).status).toBe(0);
  const rotate = ["rotate-secret", "Proving", "--until-proven", "--secret-stdin", "--yes"];
  expect((await given(randomSecret(), ...rotate)).status).toBe(0);
  const again = await given(randomSecret(), ...rotate);
  expect(again.status).toBe(2);
  expect(again.stderr).toContain("without --secret-stdin");
});

test("an empty standard input and a subscription that is only read are wrong usage", async () => {
  const empty = await given("", ...createArgs("Empty", "http://127.0.0.1:9/"));
  expect(empty.status).toBe(2);
  const pull = ["create", "--name", "Pull", "--pull", "--event", "message.created", "--secret-stdin"];
  expect((await given(randomSecret(), ...pull)).status).toBe(2);
});
