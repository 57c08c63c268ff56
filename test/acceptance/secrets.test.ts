import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { signedHashOf, signedPrefix } from "../../src/incoming-webhooks/address-hash.ts";
import { createIncomingWebhook } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { hashOf } from "../../src/secrets/secret-text.ts";
import { revokeToken } from "../../src/tokens/tokens.ts";
import { apiClient, readAnswer } from "../support/client.ts";
import { readServedData } from "../support/data-folder.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { actor } from "../support/workspace.ts";

/** Everything that a copy of the data folder and of the log would hold. */
async function everythingWritten(stage: Stage): Promise<Buffer> {
  const files = await readServedData(stage.server.dataDir);
  return Buffer.concat([...files.values(), Buffer.from(stage.server.logLines().join("\n"))]);
}

/** Pieces of the secret that would give it away, in the usual spellings. Its first four characters may be shown. */
function tracesOf(secret: string): string[] {
  const hidden = secret.slice(secret.lastIndexOf("_") + 5);
  const bytes = Buffer.from(hidden);
  const base64 = bytes.toString("base64");
  return [hidden.slice(0, 12), hidden.slice(-12), bytes.toString("hex").slice(0, 24), base64.slice(0, 16)];
}

/** Mints every kind of secret and uses each in ways that succeed and ways that fail. */
async function useSecrets(
  stage: Stage,
  receiverUrl: string,
): Promise<{ hashed: string[]; hashes: string[]; unstored: string; sealed: string[] }> {
  const { cast, server, workspace } = stage;
  const vault = new Vault(findKey(server.dataDir, ""));
  const bot = await workspace.token(cast.bot);
  const person = await workspace.token(cast.owner);
  const poor = await workspace.token(cast.bot, "channels:read");
  const incoming = await workspace.database.write((tx) =>
    createIncomingWebhook(
      tx,
      vault,
      { bot: cast.bot, channel: cast.open },
      { name: "ci", signed: true },
      actor,
    ),
  );

  const client = apiClient(server.url, bot.token);
  const owner = apiClient(server.url, person.token);
  const subscription = await owner.post<{ data: { id: string }; secret: string }>("/webhooks", {
    name: "receiver",
    url: receiverUrl,
    events: ["message.created"],
  });
  expect(subscription.status).toBe(201);
  const messages = `/channels/${cast.open.id}/messages`;
  expect((await client.post(messages, { body: "hello" })).status).toBe(201);
  expect((await apiClient(server.url, poor.token).post(messages, { body: "x" })).status).toBe(403);
  for (const path of [`/channels/${bot.token}`, `/channels?access_token=${bot.token}`, `/${bot.token}`]) {
    await client.get(path);
  }
  const anonymous = apiClient(server.url);
  await anonymous.get("/channels", { authorization: `Token ${bot.token}` });
  await anonymous.get("/channels", { authorization: `Bearer ${bot.token}x` });
  await anonymous.get("/channels", { cookie: `token=${bot.token}` });

  const body = '{"text": "built"}';
  const signature = createHmac("sha256", incoming.secret ?? "")
    .update(body)
    .digest("hex");
  const ingest = async (path: string, headers: Record<string, string>, method = "POST") => {
    const response = await fetch(server.url + path, {
      method,
      headers,
      body: method === "GET" ? null : body,
    });
    return (await readAnswer(`${method} /webhooks/incoming/…`, response)).status;
  };
  const address = `/webhooks/incoming/${incoming.token}`;
  expect(await ingest(address, { "x-signature-256": signature })).toBe(202);
  expect(await ingest(address, { "x-signature-256": incoming.secret ?? "" })).toBe(401);
  expect(await ingest(`${address}x`, {})).toBe(404);
  expect(await ingest(`${address}/x`, {})).toBe(404);
  expect(await ingest(address, {}, "GET")).toBe(405);

  await workspace.database.write((tx) => revokeToken(tx, cast.teamId, bot.id, actor));
  expect((await client.get("/channels")).status).toBe(401);
  return {
    hashed: [bot.token, person.token, poor.token, incoming.token],
    hashes: [
      ...[bot, person, poor].map(({ token }) => hashOf(token)),
      signedHashOf(hashOf(incoming.token)).replace(signedPrefix, ""),
    ],
    /** What the address of the signed webhook is looked up by, which is not what is stored. */
    unstored: hashOf(incoming.token),
    sealed: [incoming.secret ?? "", subscription.json.secret],
  };
}

test("of tokens the data and the log hold nothing but hashes, of signing secrets nothing in clear", async () => {
  // Fails at first, so that failures leave their traces too.
  await using receiver = startReceiver(
    (_request, nth) => new Response("noted", { status: nth === 1 ? 500 : 200 }),
  );
  await using stage = await startStage({
    PARLEY_LOG_LEVEL: "trace",
    WEBHOOKS_BLOCK_PRIVATE_URLS: "false",
    WEBHOOKS_BACKOFF_BASE: "0.05",
  });
  const { hashed, hashes, unstored, sealed } = await useSecrets(stage, receiver.url);
  await receiver.received(3);

  for (const moment of ["while the server runs", "after its end"]) {
    const written = await everythingWritten(stage);
    for (const secret of [...hashed, ...sealed]) {
      for (const trace of tracesOf(secret)) expect(written.includes(trace), moment).toBe(false);
    }
    // What is looked for in the right place is found.
    for (const hash of hashes) expect(written.includes(hash), moment).toBe(true);
    expect(written.includes(unstored), moment).toBe(false);
    expect(written.includes("request.handled")).toBe(true);
    if (moment === "while the server runs") await stage.server.stop();
  }
});
