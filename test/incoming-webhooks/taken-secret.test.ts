import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import { listIncomingWebhooks } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { rotateIncomingSecret } from "../../src/incoming-webhooks/rotation.ts";
import { hashOf } from "../../src/secrets/secret-text.ts";
import { testOnSqlite } from "../support/on-sqlite.ts";
import { engine } from "../support/engine.ts";
import { rowsOf } from "../support/data.ts";
import { actor } from "../support/workspace.ts";
import {
  type Incoming,
  ingestDigest,
  startWebhookStage,
  type WebhookStage,
} from "../support/webhook-stage.ts";

const body = '{"text":"hello"}';

let stage: WebhookStage;
let channel: ChannelRow;
beforeAll(async () => {
  stage = await startWebhookStage();
  channel = await stage.channel();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** Changes the database as somebody does who may write to its file and knows neither key nor token. */
async function tamper(at: WebhookStage, sql: string, ...parameters: string[]): Promise<void> {
  await rowsOf(at.dataDir, sql, ...parameters);
}

/** The statuses of a request without a signature, and of one signed with the secret. */
async function statuses(at: WebhookStage, hook: Incoming, secret = hook.secret): Promise<number[]> {
  const right = { "x-signature-256": ingestDigest(body, secret) };
  const answers = [await at.send(hook.token, body), await at.send(hook.token, body, right)];
  return answers.map(({ status }) => status);
}

async function rotate(at: WebhookStage, { id }: Incoming): Promise<string> {
  const { vault, team, database } = at;
  const { secret } = await database.write((tx) => rotateIncomingSecret(tx, vault, team.id, id, actor));
  return secret;
}

const takeSecret = "UPDATE incoming_webhooks SET secret = NULL WHERE id = ?";

describe("a signing secret that was removed from the database", () => {
  test.each([
    ["made with one", true],
    ["that got it later", false],
  ])(
    "opens no webhook %s to unsigned requests: they are 503, until it has a new secret",
    async (_, signed) => {
      const hook = await stage.incoming(channel, { signed });
      const secret = signed ? hook.secret : await rotate(stage, hook);
      expect(await statuses(stage, hook, secret)).toEqual([401, 202]);
      const before = await stage.messages(channel);
      await tamper(stage, takeSecret, hook.id);
      expect(await statuses(stage, hook, secret)).toEqual([503, 503]);
      const answer = await stage.send(hook.token, body);
      expect(answer.json.message).toMatch(/missing from the database.*rotate-secret/);
      expect(answer.json.message).toContain(hook.id);
      expect(await stage.messages(channel)).toEqual(before);
      const listed = await stage.database.ask((db) => listIncomingWebhooks(db, stage.team.id));
      expect(listed.find(({ id }) => id === hook.id)?.signed).toBe(true);

      expect(await statuses(stage, hook, await rotate(stage, hook))).toEqual([401, 202]);
    },
  );

  test("is reported in the log, and again when the server starts", async () => {
    await using own = await startWebhookStage();
    const hook = await own.incoming(await own.channel(), { signed: true });
    await tamper(own, takeSecret, hook.id);
    const { headers, json } = await own.send(hook.token, body);
    const failed = await own.server.logLine(({ msg }) => msg === "request.failed");
    const request_id = headers.get("x-request-id");
    expect(failed).toMatchObject({ request_id, level: 50, status: 503, err: { message: json.message } });
    await own.stop();
    await own.restart();
    const line = await own.server.logLine(({ msg }) => msg === "secrets.unreadable");
    expect(line).toMatchObject({ level: 50, subscriptions: 0, incoming_webhooks: 1 });
    expect(line.reason).toMatch(/missing from the database.*rotate-secret/);
  });
});

test("no other change of a signed webhook's row opens it to unsigned requests either", async () => {
  const other = await stage.incoming(channel, { signed: true });
  const bytes = (hex: string) => (engine === "sqlite" ? `x'${hex}'` : `'\\x${hex}'`);
  const changes: Array<[string, number]> = [
    [`secret = ${bytes("")}`, 503],
    [`secret = ${bytes("00")}`, 503],
    [`secret = (SELECT secret FROM incoming_webhooks WHERE id = '${other.id}')`, 503],
    ["secret = NULL, token_hash = substr(token_hash, 8)", 404],
    ["secret = NULL, token_hash = replace(token_hash, 'signed:', 'SIGNED:')", 404],
  ];
  for (const [change, status] of changes) {
    const hook = await stage.incoming(channel, { signed: true });
    await tamper(stage, `UPDATE incoming_webhooks SET ${change} WHERE id = ?`, hook.id);
    expect(await statuses(stage, hook), change).toEqual([status, status]);
  }
});

// No such version used PostgreSQL.
testOnSqlite(
  "a webhook of a version that stored the plain hash of its token keeps working and requiring signatures",
  async () => {
    await using own = await startWebhookStage();
    const ownChannel = await own.channel();
    const [signed, unsigned] = [
      await own.incoming(ownChannel, { signed: true }),
      await own.incoming(ownChannel),
    ];
    await own.stop();
    for (const { id, token } of [signed, unsigned]) {
      await tamper(own, "UPDATE incoming_webhooks SET token_hash = ? WHERE id = ?", hashOf(token), id);
    }
    await tamper(own, "DELETE FROM migrations WHERE name LIKE '%_signed_addresses'");
    await own.restart();
    expect(await statuses(own, signed)).toEqual([401, 202]);
    expect(await statuses(own, unsigned, "any")).toEqual([202, 202]);
    await tamper(own, takeSecret, signed.id);
    expect(await statuses(own, signed)).toEqual([503, 503]);
    expect(await statuses(own, unsigned, "any")).toEqual([202, 202]);
  },
);
