import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { incomingWebhooks } from "../../src/database/schema.ts";
import type { IncomingWebhook } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import type { LeakedSecret } from "../../src/leaked-secrets.ts";
import { run, runJson, runRefused } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import {
  type Incoming,
  ingestDigest,
  startWebhookStage,
  type WebhookStage,
} from "../support/webhook-stage.ts";

type Rotated = IncomingWebhook & { url: string; secret: string };

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const rotate = (what: string, hook: Incoming, ...args: string[]) =>
  runJson<Rotated>(stage.dataDir, ["incoming-webhooks", `rotate-${what}`, hook.id, "--yes", ...args]);
const tokenOf = ({ url }: Rotated) => url.split("/").at(-1) ?? "";
const list = () => runJson<IncomingWebhook[]>(stage.dataDir, ["incoming-webhooks", "list"]);

/** The status of a post to the address with the token, signed with the secret if there is one. */
async function statusOf(token: string, secret?: string | null): Promise<number> {
  const body = '{"text":"hello"}';
  const headers = secret ? { "x-signature-256": ingestDigest(body, secret) } : {};
  return (await stage.send(token, body, headers)).status;
}

/** Ends the overlap of the webhook, as if its time had passed. */
async function endOverlap({ id }: Incoming): Promise<void> {
  const past = Date.now() - 1;
  await stage.database.write(async (tx) => {
    await tx
      .update(incomingWebhooks)
      .set({ previousTokenUntil: past, previousSecretUntil: past })
      .where(eq(incomingWebhooks.id, id));
  });
}

describe("a URL that is replaced", () => {
  test.each([[false], [true]])("stops working at once (signed: %p)", async (signed) => {
    const hook = await stage.incoming(await stage.channel(), { signed });
    const rotated = await rotate("url", hook);
    expect(rotated.old_address_until).toBeUndefined();
    expect(await statusOf(hook.token, hook.secret)).toBe(404);
    expect(await statusOf(tokenOf(rotated), hook.secret)).toBe(202);
  });

  test.each([[false], [true]])("works beside the new one for the overlap (signed: %p)", async (signed) => {
    const hook = await stage.incoming(await stage.channel(), { signed });
    const rotated = await rotate("url", hook, "--overlap", "24h");
    for (const token of [hook.token, tokenOf(rotated)]) {
      expect(await statusOf(token, hook.secret)).toBe(202);
      if (signed) expect(await statusOf(token)).toBe(401);
    }
    const { stdout, stderr } = await run(stage.dataDir, ["incoming-webhooks", "list"]);
    expect(stdout + stderr).toContain(`works until ${rotated.old_address_until}`);
    await endOverlap(hook);
    expect(await statusOf(hook.token, hook.secret)).toBe(404);
    expect(await statusOf(tokenOf(rotated), hook.secret)).toBe(202);
    expect((await list()).find(({ id }) => id === hook.id)).not.toHaveProperty("old_address_until");
  });

  test("works no more once the webhook is revoked or its URL is replaced again", async () => {
    const hook = await stage.incoming(await stage.channel());
    const first = await rotate("url", hook, "--overlap", "24h");
    const second = await rotate("url", hook, "--overlap", "24h");
    expect(await statusOf(hook.token)).toBe(404);
    expect(await statusOf(tokenOf(first))).toBe(202);
    await runJson(stage.dataDir, ["incoming-webhooks", "revoke", hook.id, "--yes"]);
    expect([await statusOf(tokenOf(first)), await statusOf(tokenOf(second))]).toEqual([404, 404]);
  });

  test("needs signatures too once the webhook has a secret", async () => {
    const hook = await stage.incoming(await stage.channel());
    await rotate("url", hook, "--overlap", "24h");
    const { secret } = await rotate("secret", hook);
    expect(await statusOf(hook.token)).toBe(401);
    expect(await statusOf(hook.token, secret)).toBe(202);
  });

  test("is found among leaked secrets for as long as it works", async () => {
    const hook = await stage.incoming(await stage.channel());
    await rotate("url", hook, "--overlap", "24h");
    const leaked = async () => {
      const { stdout } = await run(stage.dataDir, ["tokens", "leaked", hook.token, "--json"]);
      return (JSON.parse(stdout) as { data: LeakedSecret[] }).data.map(({ status }) => status);
    };
    expect(await leaked()).toEqual(["active"]);
    await endOverlap(hook);
    expect(await leaked()).toEqual(["inactive"]);
  });
});

describe("a secret that is replaced", () => {
  test("is accepted beside the new one for the overlap, and then no more", async () => {
    const hook = await stage.incoming(await stage.channel(), { signed: true });
    const { secret, old_secret_until: until } = await rotate("secret", hook, "--overlap", "24h");
    expect(Date.parse(until ?? "")).toBeGreaterThan(Date.now() + 23 * 3_600_000);
    expect([await statusOf(hook.token, hook.secret), await statusOf(hook.token, secret)]).toEqual([202, 202]);
    expect(await statusOf(hook.token, `${secret}x`)).toBe(401);
    await endOverlap(hook);
    expect([await statusOf(hook.token, hook.secret), await statusOf(hook.token, secret)]).toEqual([401, 202]);
  });

  test("stays readable when the key is rotated during the overlap", async () => {
    const hook = await stage.incoming(await stage.channel(), { signed: true });
    await rotate("secret", hook, "--overlap", "24h");
    await runJson(stage.dataDir, ["secrets", "rotate-key", "--yes"]);
    expect(await statusOf(hook.token, hook.secret)).toBe(202);
  });

  test("cannot overlap with requests that need none", async () => {
    const hook = await stage.incoming(await stage.channel());
    const args = ["incoming-webhooks", "rotate-secret", hook.id, "--yes", "--overlap", "24h"];
    expect((await runRefused(stage.dataDir, args)).message).toContain("Set it without --overlap");
    expect(await statusOf(hook.token)).toBe(202);
  });
});

test("a sender that posts all the time loses nothing while its URL and its secret are replaced", async () => {
  const channel = await stage.channel();
  const hook = await stage.incoming(channel, { signed: true });
  let { token, secret } = hook as { token: string; secret: string };
  let isOver = false;
  let sent = 0;
  const sending = (async () => {
    for (; !isOver; sent++) expect(await statusOf(token, secret)).toBe(202);
  })();
  /** Waits until what the sender began before this is answered, and more after it; an unexpected answer throws. */
  const goesOn = async () => {
    const before = sent;
    await Promise.race([sending, until("more posts", () => sent > before + 5)]);
  };
  await goesOn();
  const address = await rotate("url", hook, "--overlap", "24h");
  await goesOn();
  token = tokenOf(address);
  await goesOn();
  const replaced = await rotate("secret", hook, "--overlap", "24h");
  await goesOn();
  secret = replaced.secret;
  await goesOn();
  await endOverlap(hook);
  await goesOn();
  isOver = true;
  await sending;
});
