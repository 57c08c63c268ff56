import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import type { ChannelRow } from "../../src/channels/store.ts";
import { refusedPosts } from "../../src/database/schema.ts";
import { getRefusedPost, type RefusedPost } from "../../src/incoming-webhooks/refused-posts.ts";
import { readRefusedPost, resendRefusedPost } from "../../src/incoming-webhooks/senders/resend.ts";
import { keys, onTerminal, run, runJson, runRefused } from "../support/cli.ts";
import {
  type Incoming,
  ingestDigest,
  startWebhookStage,
  type WebhookStage,
} from "../support/webhook-stage.ts";

let stage: WebhookStage;
let channel: ChannelRow;
beforeAll(async () => {
  stage = await startWebhookStage();
  channel = await stage.channel();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** A body that is refused where it came, and can be posted as Slack's. */
const body = JSON.stringify({ text: 7, attachments: [{ fallback: "the disk is full" }] });
const command = (verb: string, hook: Incoming, ...args: string[]) => [
  "incoming-webhooks",
  verb,
  hook.id,
  ...args,
];
const inspect = (hook: Incoming) => runJson<RefusedPost[]>(stage.dataDir, command("inspect", hook));
const rotate = (what: string, hook: Incoming, ...args: string[]) =>
  runJson(stage.dataDir, command(`rotate-${what}`, hook, "--yes", ...args));
const resendable = async (hook: Incoming) =>
  (await inspect(hook)).filter((post) => post.can_be_resent).length;
const signed = (hook: Incoming) => ({ "x-signature-256": ingestDigest(body, hook.secret ?? "") });

/** A webhook that has refused the body. */
async function refusing(
  options: { signed?: boolean; headers?: Record<string, string> } = {},
): Promise<{ hook: Incoming; id: string }> {
  const hook = await stage.incoming(channel, { signed: options.signed === true });
  const headers = { ...options.headers, ...(hook.secret === null ? {} : signed(hook)) };
  expect((await stage.send(hook.token, body, headers)).status).toBe(422);
  return { hook, id: (await inspect(hook))[0]?.id ?? "" };
}

describe("what came by an address or with a secret that has been replaced", () => {
  test.each([
    ["a secret", "secret", true],
    ["no secret, before there was one", "secret", false],
    ["an address that needed no secret", "url", false],
  ])("with %s cannot be resent, and is still shown", async (_, what, isSigned) => {
    const { hook, id } = await refusing({ signed: isSigned });
    expect(await resendable(hook)).toBe(1);
    await rotate(what, hook);
    expect(await resendable(hook)).toBe(0);
    const refused = await runRefused(stage.dataDir, command("resend", hook, id));
    expect(refused.message).toContain("has been replaced since");
    expect(await runJson<object>(stage.dataDir, command("inspect", hook, id))).toMatchObject({ body });
  });

  test.each([
    ["a secret", "secret", true],
    ["an address that needed no secret", "url", false],
  ])("with %s can be resent where the old one works for an overlap", async (_, what, isSigned) => {
    const { hook } = await refusing({ signed: isSigned });
    await rotate(what, hook, "--overlap", "24h");
    expect(await resendable(hook)).toBe(1);
  });

  test("can be resent where the address changed and the secret did not", async () => {
    const { hook } = await refusing({ signed: true });
    await rotate("url", hook);
    expect(await resendable(hook)).toBe(1);
  });

  test("is not pushed out by posts of senders without the secret", async () => {
    const hook = await stage.incoming(channel, { signed: true });
    for (let n = 0; n < 20; n++) await stage.send(hook.token, body, signed(hook));
    await rotate("secret", hook);
    for (let n = 0; n < 15; n++) expect((await stage.send(hook.token, body)).status).toBe(401);
    const codes = (await inspect(hook)).map(({ code }) => code);
    expect(codes.filter((code) => code === "invalid").length).toBe(20);
    expect(codes.filter((code) => code === "unauthenticated").length).toBe(10);
  });

  test("is not posted where it was replaced after the post was read", async () => {
    const { hook, id } = await refusing({ signed: true });
    const { database, vault } = stage;
    const read = await readRefusedPost(
      hook.id,
      await database.ask((db) => getRefusedPost(db, vault, hook.id, id)),
    );
    await rotate("secret", hook);
    const place = { teamId: channel.teamId, webhookId: hook.id };
    const resent = database.write((tx) => resendRefusedPost(tx, place, read, "cli"));
    expect(await resent.catch(String)).toContain("has been replaced since");
    expect((await inspect(hook)).length).toBe(1);
  });
});

test("a post without a valid signature says whether it had none or a wrong one", async () => {
  const hook = await stage.incoming(channel, { signed: true });
  const wrong = ingestDigest(body, `${hook.secret}x`);
  const posts: Array<[string, Record<string, string>]> = [
    ["", {}],
    ["", { "x-signature-256": wrong }],
    ["/github", { "x-signature-256": wrong, "x-hub-signature-256": wrong }],
    ["/gitlab", {}],
  ];
  for (const [ending, headers] of posts) {
    const address = `${stage.server.url}/webhooks/incoming/${hook.token}${ending}`;
    expect((await fetch(address, { method: "POST", body, headers })).status).toBe(401);
  }
  expect((await inspect(hook)).map(({ reason }) => reason).reverse()).toEqual([
    "The request had no X-Signature-256.",
    "The request's X-Signature-256 did not match the webhook's secret.",
    "The request's X-Signature-256 and X-Hub-Signature-256 did not match the webhook's secret.",
    "The request had no X-Signature-256 or X-Gitlab-Token.",
  ]);
});

test("a post that was too large to be read is said to be that, signed or not", async () => {
  const hook = await stage.incoming(channel, { signed: true });
  expect((await stage.send(hook.token, "x".repeat(1_100_000))).status).toBe(413);
  const [post] = await inspect(hook);
  const refused = await runRefused(stage.dataDir, command("resend", hook, post?.id ?? ""));
  expect(refused.message).toContain("too long");
});

test("a post that no key reads hides no other one", async () => {
  const { hook, id } = await refusing();
  await stage.send(hook.token, { n: 2 });
  await stage.database.write(async (tx) => {
    await tx
      .update(refusedPosts)
      .set({ post: Buffer.alloc(64) })
      .where(eq(refusedPosts.id, id));
  });
  const posts = await inspect(hook);
  expect(posts.map(({ can_be_resent, size }) => ({ can_be_resent, size }))).toEqual([
    { can_be_resent: true, size: 7 },
    { can_be_resent: false, size: null },
  ]);
  expect(posts[1]?.reason).toContain("cannot be read with this key");
  const shown = await run(stage.dataDir, command("inspect", hook, id));
  expect(shown.stderr).toContain("cannot be read with this key");
});

describe("of the headers", () => {
  const headersOf = async (hook: Incoming, id: string) =>
    (await runJson<{ headers: Record<string, string> }>(stage.dataDir, command("inspect", hook, id))).headers;

  test("none is kept that has the secret address in it, as proxies add them", async () => {
    const hook = await stage.incoming(channel);
    const path = `/api/v1/incoming-webhooks/${hook.token}`;
    await stage.send(hook.token, body, {
      "x-original-url": path,
      "x-waws-unencoded-url": path.replaceAll("_", "%5F"),
      referer: `https://chat.example.com${path}?a=b`,
      "x-cut": `${hook.token.slice(0, 20)}…`.replace("…", "..."),
      "x-plain": "kept",
    });
    const [post] = await inspect(hook);
    const headers = await headersOf(hook, post?.id ?? "");
    expect(headers).toHaveProperty("x-plain", "kept");
    expect(JSON.stringify(headers)).not.toContain(hook.token.slice(7, 20));
  });

  test("none is kept whose name says that it is a credential", async () => {
    const names = ["x-auth-request", "x-amz-key", "x-password", "x-session", "proxy-authorization"];
    const { hook, id } = await refusing({
      headers: { ...Object.fromEntries(names.map((name) => [name, "canary"])), "idempotency-key": "k1" },
    });
    const headers = await headersOf(hook, id);
    expect(headers).toHaveProperty("idempotency-key", "k1");
    expect(JSON.stringify(headers)).not.toContain("canary");
  });

  test("one that is too long leaves room for those after it", async () => {
    const { hook, id } = await refusing({ headers: { "a-long-one": "x".repeat(9_000), "z-last": "kept" } });
    const headers = await headersOf(hook, id);
    expect(headers).toHaveProperty("z-last", "kept");
    expect(headers).not.toHaveProperty("a-long-one");
  });
});

test("names that a sender chose cannot write to the terminal where a post is chosen", async () => {
  const hook = await stage.incoming(channel);
  await stage.send(hook.token, { "\u001b]0;owned\u0007": 1 });
  await using screen = onTerminal(stage.dataDir, command("resend", hook));
  await screen.shows("Which post?");
  await screen.shows("\\u{1b}]0;owned\\u{7}");
  screen.type(keys.interrupt);
  await screen.ended();
});
