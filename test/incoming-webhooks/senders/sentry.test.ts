import { describe, expect, test } from "bun:test";
import { messageIn } from "../../../src/incoming-webhooks/senders/read-post.ts";
import { sentry } from "../../../src/incoming-webhooks/senders/sentry.ts";
import { startWebhookStage } from "../../support/webhook-stage.ts";
import { mutated, randomNumbers } from "./fuzz.ts";

// The samples of docs.sentry.io, "Integration Platform", "Webhooks", with the fields that are read.
const samples: Record<string, object> = {
  event_alert: {
    action: "triggered",
    actor: { id: "sentry", name: "Sentry", type: "application" },
    data: {
      event: {
        culprit: "?(<anonymous>)",
        event_id: "e4874d664c3540c1a32eab185f12c5ab",
        issue_id: "1117540176",
        level: "error",
        message: "",
        project: 1,
        title: "ReferenceError: heck is not defined",
        web_url:
          "https://sentry.io/organizations/test-org/issues/1117540176/events/e4874d664c3540c1a32eab185f12c5ab/",
      },
      triggered_rule: "Very Important Alert Rule!",
    },
  },
  metric_alert: {
    action: "resolved",
    actor: { id: "sentry", name: "Sentry", type: "application" },
    data: {
      description_text: "1000 events in the last 10 minutes\\nFilter: level:error",
      description_title: "Resolved: Too many errors",
      metric_alert: { title: "Sacred Marmot", identifier: "1" },
      web_url: "https://sentry.io/organizations/baz/alerts/1/",
    },
  },
  issue: {
    action: "created",
    actor: { id: "sentry", name: "Sentry", type: "application" },
    data: {
      issue: {
        culprit: "?(runner)",
        level: "error",
        permalink: null,
        project: { id: "1", name: "front-end", platform: "", slug: "front-end" },
        shortId: "FRONT-END-9",
        status: "unresolved",
        title: "ReferenceError: blooopy is not defined",
      },
    },
  },
  comment: {
    action: "created",
    data: { comment: "adding a comment", project_slug: "sentry", comment_id: 1234, issue_id: 100 },
    actor: { type: "user", id: 1, name: "colleen" },
  },
  installation: {
    action: "created",
    actor: { id: 1, name: "Meredith Heller", type: "user" },
    data: { installation: { status: "pending", app: { slug: "webhooks-galore" } } },
  },
};

const textOf = (resource: string, payload: object) =>
  messageIn(sentry, payload, new Headers(resource === "" ? {} : { "sentry-hook-resource": resource })).text;

describe("Sentry's published sample reads well:", () => {
  test.each([
    [
      "event_alert",
      "[Sentry] Alert: ReferenceError: heck is not defined\nerror, in ?(<anonymous>)\nRule: Very Important Alert Rule!\nhttps://sentry.io/organizations/test-org/issues/1117540176/events/e4874d664c3540c1a32eab185f12c5ab/",
    ],
    [
      "metric_alert",
      "[Sentry] Resolved: Too many errors\n1000 events in the last 10 minutes, Filter: level:error\nhttps://sentry.io/organizations/baz/alerts/1/",
    ],
    [
      "issue",
      "[Sentry front-end] Issue created: ReferenceError: blooopy is not defined\nerror, FRONT-END-9, in ?(runner)",
    ],
    ["comment", "[Sentry sentry] colleen commented on issue 100\nadding a comment"],
    ["installation", "[Sentry] installation created"],
  ])("%s", (resource, text) => {
    expect(textOf(resource, samples[resource] ?? {})).toBe(text);
  });
});

test("an issue that a person has resolved says who", () => {
  const resolved = { ...samples.issue, action: "resolved", actor: { type: "user", name: "Ann" } };
  expect(textOf("issue", resolved)).toStartWith("[Sentry front-end] Issue resolved by Ann: ReferenceError");
});

test("what the older plugin posts reads well", () => {
  const payload = {
    project: "backend",
    culprit: "raven.scripts.runner in main",
    level: "error",
    url: "https://sentry.example.com/acme/backend/issues/1/",
    message: "This is an example Python exception",
    event: { title: "Example" },
  };
  expect(textOf("", payload)).toBe(
    "[Sentry backend] Alert: Example\nerror, in raven.scripts.runner in main\nhttps://sentry.example.com/acme/backend/issues/1/",
  );
});

test("its posts are taken, repeated ones once, whatever is wrong with them", async () => {
  await using stage = await startWebhookStage();
  const channel = await stage.channel();
  const { token } = await stage.incoming(channel);
  const post = async (resource: string, body: string, id: string = crypto.randomUUID()) => {
    const headers = { "sentry-hook-resource": resource, "request-id": id };
    const address = `${stage.server.url}/webhooks/incoming/${token}/sentry`;
    return (await fetch(address, { method: "POST", headers, body })).status;
  };
  const body = JSON.stringify(samples.issue);
  expect([await post("issue", body, "one"), await post("issue", body, "one")]).toEqual([200, 200]);
  expect((await stage.messages(channel)).length).toBe(1);
  const random = randomNumbers(2_026);
  for (let n = 0; n < 100; n++) {
    const [resource, sample] = Object.entries(samples)[random(Object.keys(samples).length)] ?? ["", {}];
    expect([200, 413, 422], `post ${n}`).toContain(
      await post(resource, JSON.stringify(mutated(sample, random))),
    );
  }
});
