import { afterAll, beforeAll, expect, test } from "bun:test";
import { verifyDeliverySignature, verifyStandardSignature } from "../../src/deliveries/signature.ts";
import { listAllSubscriptions } from "../../src/subscriptions/subscriptions.ts";
import { runRefused, type Serving, startServing } from "../support/cli.ts";
import { hang, type Received, startReceiver, statuses } from "../support/receivers/receiver.ts";
import { envelopeOf, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

// Addresses are judged as they are by default: what is forwarded needs no setting.
let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage({ WEBHOOKS_BLOCK_PRIVATE_URLS: "true" });
});
afterAll(() => stage[Symbol.asyncDispose]());

async function subscriptions(): Promise<string[]> {
  const all = await stage.database.ask((db) => listAllSubscriptions(db, stage.team.id));
  return all.map(({ name }) => name);
}

/** Starts forwarding to the address; resolves once it has its subscription. */
async function forwarding(
  url: string,
  args: string[] = [],
  environment: Record<string, string> = {},
): Promise<{ listening: Serving; secret: string }> {
  const command = ["listen", "--forward-to", url, "--json", ...args];
  const listening = startServing(stage.dataDir, command, environment);
  const { data } = JSON.parse(await listening.firstLine()) as { data: { secret: string } };
  return { listening, secret: data.secret };
}

function isSigned({ headers, body }: Received, secret: string): boolean {
  const now = Date.now() / 1000;
  const service = verifyDeliverySignature(headers.get("x-service-signature"), body, secret, now);
  return service.ok && verifyStandardSignature(headers, body, secret, now).ok;
}

test("events are forwarded to this machine as the server would deliver them, in order, and the subscription ends with it", async () => {
  await using receiver = startReceiver(statuses(500, 204));
  const channel = await stage.channel();
  const other = await stage.channel();
  const args = ["--event", "message.created", "--channel", channel.slug];
  const { listening, secret } = await forwarding(receiver.url, args);
  await using _ = listening;
  expect(await subscriptions()).toHaveLength(1);
  const bodies = ["first", "“second” <b> 🎉", "third"];
  for (const body of bodies) {
    await stage.post(other, "elsewhere");
    await stage.post(channel, body);
  }
  const requests = await receiver.received(3);
  expect(requests.map((request) => envelopeOf(request).data.body)).toEqual(bodies);
  for (const request of requests) {
    expect(isSigned(request, secret)).toBe(true);
    expect(request.headers.get("x-service-event")).toBe("message.created");
    expect(request.headers.get("x-service-delivery")).toBe(envelopeOf(request).id);
    expect(request.headers.get("x-service-cursor")).toMatch(/^[0-9a-z]+-[0-9a-f]{12}$/);
  }
  expect(await listening.stop()).toMatchObject({ status: 0 });
  expect(await subscriptions()).toEqual([]);
  await stage.post(channel, "too late");
  expect(receiver.requests).toHaveLength(3);
  expect(await stage.audit("webhook.deleted")).toHaveLength(1);
});

test("a receiver may keep its secret, and one that does not answer loses nothing but that event", async () => {
  await using receiver = startReceiver();
  const channel = await stage.channel();
  const environment = { PARLEY_LISTEN_SECRET: "whsec_of_the_developer", WEBHOOKS_TIMEOUT: "0.3" };
  const command = ["listen", "--forward-to", receiver.url, "--event", "message.created"];
  await using listening = startServing(stage.dataDir, command, environment);
  expect(await listening.firstLine()).toContain(`Forwarding to ${receiver.url}`);
  receiver.answer = hang;
  await stage.post(channel, "lost");
  await receiver.received(1);
  receiver.answer = statuses(201);
  await stage.post(channel, "found");
  const second = await receiver.nth(2);
  expect(isSigned(second, environment.PARLEY_LISTEN_SECRET)).toBe(true);
  const { status, rest } = await listening.stop();
  expect(status).toBe(0);
  expect(rest).toContain("response: timed out after 300 ms");
  expect(rest).toContain('"body": "found"');
  expect(rest).toMatch(/response: 201 in \d+ ms/);
});

test("what a killed run leaves is deleted by the next one", async () => {
  await using receiver = startReceiver();
  const { listening } = await forwarding(receiver.url);
  await listening[Symbol.asyncDispose]();
  const [left] = await subscriptions();
  expect(left).toStartWith("parley listen ");
  const next = await forwarding(receiver.url);
  const [own, ...more] = await subscriptions();
  expect(own).not.toBe(left);
  expect(more).toEqual([]);
  await next.listening.stop();
  expect(await subscriptions()).toEqual([]);
});

test.each([
  ["an address of another kind", ["--forward-to", "ftp://localhost/"], "takes an http or https URL"],
  ["a port of its own", ["--forward-to", "http://localhost:1/", "--port", "1"], "cannot be used with"],
  ["events without an address", ["--event", "message.created"], "go with --forward-to"],
])("%s is wrong usage", async (_, args, message) => {
  const refused = await runRefused(stage.dataDir, ["listen", ...args]);
  expect(refused).toMatchObject({ status: 2, message: expect.stringContaining(message) as unknown });
  expect(await subscriptions()).toEqual([]);
});

test("nothing is forwarded while the integrations are disabled", async () => {
  const args = ["listen", "--forward-to", "http://localhost:1/"];
  const { status } = await runRefused(stage.dataDir, args, { INTEGRATIONS_ENABLED: "false" });
  expect(status).toBe(1);
});
