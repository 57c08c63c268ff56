import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { revokeIncomingWebhook } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { rotateIncomingSecret } from "../../src/incoming-webhooks/rotation.ts";
import { RawConnection } from "../hostile/raw-connection.ts";
import { rowsOf } from "../support/data.ts";
import { actor } from "../support/workspace.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

const body = '{"text":"hello"}';
const limit = 4;

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage({ INTEGRATIONS_INGEST_RATE_LIMIT: String(limit) });
});
afterAll(() => stage[Symbol.asyncDispose]());

/** A connection on which the beginning of a request to the webhook has been sent. */
function begin(token: string): RawConnection {
  const connection = new RawConnection(stage.server.url);
  connection.write(
    `POST /webhooks/incoming/${token} HTTP/1.1\r\nHost: parley\r\nContent-Length: 16\r\n\r\n{`,
  );
  return connection;
}

describe("the limit on failed signatures is not used up by", () => {
  test("a truncated body", async () => {
    const hook = await stage.incoming(await stage.channel(), { signed: true });
    for (let nth = 0; nth < limit; nth++) {
      using connection = begin(hook.token);
      connection.end();
      await connection.closed;
    }
    const answer = await stage.send(hook.token, body);
    expect([answer.status, answer.headers.get("x-ratelimit-remaining")]).toEqual([401, String(limit - 1)]);
  });

  test("a secret that the server cannot read: that is 503 each time", async () => {
    const hook = await stage.incoming(await stage.channel(), { signed: true });
    await rowsOf(stage.dataDir, "UPDATE incoming_webhooks SET secret = NULL WHERE id = ?", hook.id);
    for (let nth = 0; nth <= limit; nth++) expect((await stage.send(hook.token, body)).status).toBe(503);
    const { database, vault, team } = stage;
    await database.write((tx) => rotateIncomingSecret(tx, vault, team.id, hook.id, actor));
    const answer = await stage.send(hook.token, body);
    expect([answer.status, answer.headers.get("x-ratelimit-remaining")]).toEqual([401, String(limit - 1)]);
  });

  test("a webhook that is revoked while the body arrives: that is 404, even when the limit is used up", async () => {
    const hook = await stage.incoming(await stage.channel(), { signed: true });
    for (let nth = 0; nth < limit; nth++) expect((await stage.send(hook.token, body)).status).toBe(401);
    using connection = begin(hook.token);
    // The server has the beginning of that request before this one.
    expect((await stage.send(hook.token, body)).status).toBe(429);
    await stage.database.write((tx) => revokeIncomingWebhook(tx, stage.team.id, hook.id, actor));
    connection.write(body.slice(1));
    expect((await connection.waitForAnswers(1)).map(({ status }) => status)).toEqual([404]);
  });
});
