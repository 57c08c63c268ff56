import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import type { ChannelRow } from "../../../src/channels/store.ts";
import published from "@octokit/webhooks-examples";
import { type Incoming, startWebhookStage, type WebhookStage } from "../../support/webhook-stage.ts";
import { mutated, randomNumbers } from "./fuzz.ts";
import { publishedSamples, type Sample } from "./samples/gitea-and-gitlab.ts";

let stage: WebhookStage;
let channel: ChannelRow;
let hook: Incoming;
beforeAll(async () => {
  stage = await startWebhookStage();
  channel = await stage.channel();
  hook = await stage.incoming(channel, { signed: true });
});
afterAll(() => stage[Symbol.asyncDispose]());

const signature = (body: string) =>
  createHmac("sha256", hook.secret ?? "")
    .update(body)
    .digest("hex");

async function post(sender: string, body: string, headers: Record<string, string>, to = hook) {
  const address = `${stage.server.url}/webhooks/incoming/${to.token}/${sender}`;
  const response = await fetch(address, { method: "POST", body, headers });
  return { status: response.status, body: await response.text() };
}

const fromGithub = (event: string, body: string) => ({
  "content-type": "application/json",
  "x-github-event": event,
  "x-github-delivery": crypto.randomUUID(),
  "x-hub-signature-256": `sha256=${signature(body)}`,
});
const fromGitea = (event: string, body: string) => ({
  "x-gitea-event": event,
  "x-gitea-delivery": crypto.randomUUID(),
  "x-gitea-signature": signature(body),
});
const fromGitlab = () => ({
  "x-gitlab-event": "Some Hook",
  "x-gitlab-event-uuid": crypto.randomUUID(),
  "x-gitlab-token": hook.secret ?? "",
});

const ok = { status: 200, body: "ok" };
const newest = async () => (await stage.messages(channel))[0]?.body ?? "";

function expectReadable(text: string): void {
  for (const line of text.split("\n")) {
    expect(line).toMatch(/^\S(.*\S)?$/);
    expect(line.length).toBeLessThanOrEqual(400);
  }
  expect(text).not.toMatch(/undefined|null|\[object|NaN| {2}|#:/);
  expect(text.split("\n").length).toBeLessThanOrEqual(8);
}

describe("GitHub's published samples, signed, make one readable message each:", () => {
  test.each(published.map(({ name, examples }) => [name, examples] as const))(
    "%s",
    async (name, examples) => {
      for (const example of examples) {
        const body = JSON.stringify(example);
        expect(await post("github", body, fromGithub(name, body))).toEqual(ok);
        expectReadable(await newest());
      }
    },
  );
});

const sampleOf = (name: string, action?: string) =>
  published
    .find((event) => event.name === name)
    ?.examples.find(
      (example) => action === undefined || ("action" in example && example.action === action),
    ) as object;

test.each<[string, string | undefined, object, string]>([
  [
    "pull_request",
    "opened",
    {},
    "[Codertocat/Hello-World] Codertocat opened pull request #2: Update the README with new information.\nchanges → master\nhttps://github.com/Codertocat/Hello-World/pull/2",
  ],
  [
    "issues",
    "opened",
    {},
    "[Codertocat/Hello-World] Codertocat opened issue #1: Spelling error in the README file\nhttps://github.com/Codertocat/Hello-World/issues/1",
  ],
  [
    "workflow_run",
    "completed",
    { workflow_run: { name: "CI", run_number: 7, conclusion: "failure", head_branch: "main" } },
    "Workflow CI #7 failed on main",
  ],
  [
    "push",
    undefined,
    {
      ref: "refs/heads/main",
      before: "a".repeat(40),
      after: "b".repeat(40),
      deleted: false,
      created: false,
      compare: "https://github.com/a/b/compare/a...b",
      commits: Array.from({ length: 7 }, (_, n) => ({
        id: `${n}`.repeat(40),
        message: `Change ${n}\n\nwith a reason`,
        author: { name: "Mona" },
      })),
    },
    "pushed 7 commits to main\n0000000 Change 0 (Mona)\n1111111 Change 1 (Mona)\n2222222 Change 2 (Mona)\n3333333 Change 3 (Mona)\n4444444 Change 4 (Mona)\nand 2 more\nhttps://github.com/a/b/compare/a...b",
  ],
  ["ping", undefined, { zen: "Keep it simple." }, "The webhook is set up.\nKeep it simple."],
  ["moon_landing", undefined, { action: "was_faked" }, "moon landing was faked"],
])("GitHub's %s (%s) reads well", async (name, action, changes, text) => {
  const body = JSON.stringify({ ...sampleOf(name, action), ...changes });
  expect(await post("github", body, fromGithub(name, body))).toEqual(ok);
  expect(await newest()).toEndWith(text);
});

describe("a webhook with a secret", () => {
  const body = JSON.stringify(sampleOf("issues"));

  test("refuses a body of GitHub or Gitea that was changed on its way", async () => {
    const changed = body.replace("issue", "Issue");
    expect((await post("github", changed, fromGithub("issues", body))).status).toBe(401);
    expect((await post("gitea", changed, fromGitea("issues", body))).status).toBe(401);
    expect((await post("github", body, { "x-github-event": "issues" })).status).toBe(401);
  });

  test("refuses another token of GitLab", async () => {
    const wrong = { ...fromGitlab(), "x-gitlab-token": `${hook.secret}x` };
    expect((await post("gitlab", "{}", wrong)).status).toBe(401);
    expect((await post("gitlab", "{}", { "x-gitlab-event": "Push Hook" })).status).toBe(401);
  });

  test.each<[string, (event: string, body: string) => Record<string, string>]>([
    ["github", fromGithub],
    ["gitea", fromGitea],
    ["gitlab", fromGitlab],
  ])("posts the same delivery of %s once", async (sender, headersOf) => {
    const headers = headersOf("issues", body);
    const before = await stage.messages(channel);
    expect(await post(sender, body, headers)).toEqual(ok);
    const first = (await stage.messages(channel))[0]?.id;
    expect(first).not.toBe(before[0]?.id);
    expect(await post(sender, body, headers)).toEqual(ok);
    expect((await stage.messages(channel))[0]?.id).toBe(first as string);
  });

  test("takes GitHub's form, whose field payload holds the JSON", async () => {
    const form = new URLSearchParams({ payload: body }).toString();
    const headers = { ...fromGithub("issues", form), "content-type": "application/x-www-form-urlencoded" };
    expect(await post("github", form, headers)).toEqual(ok);
  });
});

test("a webhook without a secret takes posts of GitHub, signed or not", async () => {
  const open = await stage.incoming(await stage.channel());
  const body = JSON.stringify(sampleOf("ping"));
  expect(await post("github", body, fromGithub("ping", body), open)).toEqual(ok);
  expect(await post("github", body, { "x-github-event": "ping" }, open)).toEqual(ok);
});

/** The name of the event, which the samples of Gitea do not hold. */
const eventOfGitea = (name: string) =>
  name.includes("comment")
    ? "issue_comment"
    : name.startsWith("issue")
      ? "issues"
      : name.startsWith("pull-request")
        ? "pull_request"
        : name.replace("-event", "");

const gitea = publishedSamples("gitea") ?? [];
const gitlab = publishedSamples("gitlab") ?? [];

test.each(gitea.map(({ name, payload }) => [name, payload] as const))(
  "Gitea's published sample makes a readable message: %s",
  async (name, payload) => {
    const body = JSON.stringify(payload);
    expect(await post("gitea", body, fromGitea(eventOfGitea(name), body))).toEqual(ok);
    expectReadable(await newest());
  },
);

test.each(gitlab.map(({ name, payload }) => [name, payload] as const))(
  "GitLab's published sample makes a readable message: %s",
  async (_, payload) => {
    expect(await post("gitlab", JSON.stringify(payload), fromGitlab())).toEqual(ok);
    expectReadable(await newest());
  },
);

test("whatever becomes of their payloads, no post of theirs fails", async () => {
  const random = randomNumbers(4711);
  const ofGithub = published.flatMap(({ name, examples }) =>
    examples.map((payload) => ({ name, payload: payload as unknown as Sample["payload"] })),
  );
  const kinds = [
    { sender: "github", samples: ofGithub, headersOf: fromGithub },
    { sender: "gitea", samples: gitea, headersOf: fromGitea },
    { sender: "gitlab", samples: gitlab, headersOf: fromGitlab },
  ].filter(({ samples }) => samples.length > 0);
  for (let n = 0; n < 300; n++) {
    const { sender, samples, headersOf } = kinds[n % kinds.length] as (typeof kinds)[number];
    const sample = samples[random(samples.length)] as Sample;
    const body = JSON.stringify(mutated(sample.payload, random));
    const { status } = await post(sender, body, headersOf(sample.name, body));
    expect([200, 413, 422], `${sender}, post ${n}`).toContain(status);
  }
});

test("only a repetition of the same post counts as the same delivery", async () => {
  const open = await stage.incoming(await stage.channel());
  const event = (title: string) =>
    JSON.stringify({ object_kind: "issue", object_attributes: { action: "open", iid: 1, title } });
  const headers = { "x-gitlab-event-uuid": "same", "x-github-delivery": "same", "request-id": "same" };
  const inOpen = async () => (await stage.messages({ ...channel, id: open.channel.id })).length;
  const before = await inOpen();
  for (const [sender, body] of [
    ["gitlab", event("one")],
    ["gitlab", event("two")],
    ["github", event("one")],
    ["sentry", event("one")],
    ["sentry", event("one")],
  ] as const) {
    expect(await post(sender, body, headers, open)).toEqual(ok);
  }
  expect((await inOpen()) - before).toBe(4);
  for (const name of ["", "Schlüssel", "x".repeat(300)])
    expect(await post("github", event("three"), { "x-github-delivery": name }, open)).toEqual(ok);
});

test("a state that is no number is no error of ours", async () => {
  const open = await stage.incoming(await stage.channel());
  const body = JSON.stringify({ monitor: { name: "m" }, heartbeat: { status: { toString: 1, valueOf: 2 } } });
  expect((await post("uptime-kuma", body, {}, open)).status).toBeLessThan(500);
});
