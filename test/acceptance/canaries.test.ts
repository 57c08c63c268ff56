import { describe, expect, test } from "bun:test";
import { listAuditEntries } from "../../src/audit/audit.ts";
import { showAttempt } from "../../src/deliveries/attempt-log.ts";
import { ping } from "../../src/deliveries/ping.ts";
import { replay } from "../../src/deliveries/replay.ts";
import {
  listIncomingWebhooks,
  revokeIncomingWebhook,
} from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { rotateIncomingSecret } from "../../src/incoming-webhooks/rotation.ts";
import { rotateSecret } from "../../src/subscriptions/secrets.ts";
import { listTokens, revokeToken } from "../../src/tokens/tokens.ts";
import { apiClient } from "../support/client.ts";
import { readServedData } from "../support/data-folder.ts";
import { statuses } from "../support/receivers/receiver.ts";
import { actor } from "../support/workspace.ts";
import { ingestDigest, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

/** Where the secrets turned up that should be nowhere, as `place: which`. A part of one is as bad as all of it. */
function findIn(places: Map<string, string | Buffer>, secrets: Map<string, string>): string[] {
  const found: string[] = [];
  for (const [place, content] of places) {
    const bytes = Buffer.from(content);
    for (const [which, secret] of secrets) {
      const random = secret.replace(/^(ply_bot_|ply_pat_|ply_in_|whsec_)/, "");
      const forms = [
        random.slice(0, 12),
        random.slice(-12),
        Buffer.from(secret).toString("base64").slice(8, 40),
      ];
      if (forms.some((form) => bytes.includes(form))) found.push(`${place}: ${which}`);
    }
  }
  return found;
}

/** Does all that has to do with secrets, right and wrong, and returns every secret that there was. */
async function liveThrough(stage: WebhookStage, answers: string[]): Promise<Map<string, string>> {
  const { database, vault, team } = stage;
  const secrets = new Map<string, string>();
  const channel = await stage.channel();
  const hear = <A extends { text: string }>(answer: A): A => {
    answers.push(answer.text);
    return answer;
  };

  const bot = await stage.bot(channel);
  const [pat, botToken] = [await stage.workspace.token(team.owner), await stage.workspace.token(bot)];
  secrets.set("personal access token", pat.token).set("bot token", botToken.token);
  for (const { token } of [pat, botToken]) {
    const client = apiClient(stage.server.url, token);
    hear(await client.get("/channels"));
    hear(await client.get(`/channels/${token}`));
    hear(await client.post(`/channels/${channel.id}/messages`, { body: "" }));
  }
  const revoked = apiClient(stage.server.url, pat.token);
  await database.write((tx) => revokeToken(tx, team.id, pat.id, actor));
  hear(await revoked.get("/channels"));

  const hook = await stage.incoming(channel, { signed: true });
  secrets.set("url token", hook.token).set("incoming secret", hook.secret ?? "");
  const body = '{"text":"hello"}';
  hear(await stage.send(hook.token, body, { "x-signature-256": ingestDigest(body, hook.secret) }));
  hear(await stage.send(hook.token, body, { "x-signature-256": hook.secret }));
  hear(await stage.send(hook.token, "{"));
  for (const path of [`${hook.token}/`, `x${hook.token}`, `${hook.token}%zz`]) {
    const response = await fetch(`${stage.server.url}/webhooks/incoming/${path}`, { method: "POST", body });
    answers.push(await response.text());
  }
  const rotatedHook = await database.write((tx) => rotateIncomingSecret(tx, vault, team.id, hook.id, actor));
  secrets.set("rotated incoming secret", rotatedHook.secret);
  answers.push(JSON.stringify(await database.ask((db) => listIncomingWebhooks(db, team.id))));
  await database.write((tx) => revokeIncomingWebhook(tx, team.id, hook.id, actor));
  hear(await stage.send(hook.token, body));

  await using listener = await stage.listen({ channel_ids: [channel.id] }, statuses(500, 204));
  const { id, secret } = listener.subscription;
  secrets.set("subscription secret", secret);
  await stage.post(channel, "delivered");
  await listener.delivered();
  const rotated = await database.write((tx) => rotateSecret(tx, vault, team.id, id, 60_000, actor));
  secrets.set("rotated subscription secret", rotated.secret);
  await stage.post(channel, "signed twice");
  await listener.delivered();
  const outgoing = { guard: { blockPrivate: false }, timeoutMs: 500 };
  answers.push(JSON.stringify(await ping({ database, vault, outgoing }, team.id, id)));
  for (const attempt of (await stage.shown(listener.subscription)).deliveries) {
    answers.push(JSON.stringify(await replay({ database, vault, outgoing }, team.id, attempt.id, actor)));
    answers.push(JSON.stringify(await database.ask((db) => showAttempt(db, team.id, attempt.id))));
  }
  hear(await stage.api.get("/webhooks"));
  hear(await stage.api.get(`/webhooks/${id}`));
  hear(await stage.api.get(`/webhooks/${secret}`));
  answers.push(JSON.stringify(await database.ask((db) => listTokens(db, team.id))));
  return secrets;
}

describe("no token and no secret is found in clear", () => {
  test("in the data folder, the logs, the audit log, the lists and the answers", async () => {
    await using stage = await startWebhookStage({ PARLEY_LOG_LEVEL: "trace" });
    const answers: string[] = [];
    const secrets = await liveThrough(stage, answers);
    const audit = JSON.stringify(
      await stage.database.ask((db) => listAuditEntries(db, stage.team.id, { limit: 1000 })),
    );
    const places = new Map<string, string | Buffer>();
    for (const [file, content] of await readServedData(stage.dataDir)) places.set(file, content);
    await stage.stop();
    for (const [file, content] of await readServedData(stage.dataDir))
      places.set(`${file} after the stop`, content);
    places
      .set("answers", answers.join("\n"))
      .set("audit log", audit)
      .set("log", stage.server.logLines().join("\n"));

    expect(stage.server.logLines().length).toBeGreaterThan(20);
    expect(audit).toContain("webhook.secret_rotated");
    expect(secrets.size).toBe(7);
    expect(findIn(places, secrets)).toEqual([]);
    // The search itself finds what is there.
    expect(findIn(new Map([["here", `x${secrets.get("url token")}y`]]), secrets)).toEqual([
      "here: url token",
    ]);
  });
});
