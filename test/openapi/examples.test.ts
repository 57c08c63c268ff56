import { afterAll, beforeAll, expect, test } from "bun:test";
import type { OpenApiDocument, Operation } from "../../src/openapi/document.ts";
import { exampleIds } from "../../src/openapi/examples.ts";
import type { Answer } from "../support/client.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

// Addresses are judged as they are by default: an example must not need a setting.
let stage: WebhookStage;
let document: OpenApiDocument;
beforeAll(async () => {
  stage = await startWebhookStage({ WEBHOOKS_BLOCK_PRIVATE_URLS: "true" });
  document = (await (await fetch(`${stage.server.url}/api/v1/openapi.json`)).json()) as OpenApiDocument;
});
afterAll(() => stage[Symbol.asyncDispose]());

/**
 * What each operation answers to its example, and to the same once more. What the specification refuses the second time
 * is refused in the words that the document has for it.
 */
const outcomes: Array<[operationId: string, first: number, again: number]> = [
  ["listChannels", 200, 200],
  ["createChannel", 201, 422],
  ["getChannel", 200, 200],
  ["archiveChannel", 200, 200],
  ["listMessages", 200, 200],
  ["postMessage", 201, 201],
  ["getMessage", 200, 200],
  ["editMessage", 200, 200],
  ["deleteMessage", 204, 204],
  ["addReaction", 204, 204],
  ["removeReaction", 204, 204],
  ["listMembers", 200, 200],
  ["addMember", 201, 422],
  ["removeMember", 204, 404],
  ["listSubscriptions", 200, 200],
  ["createSubscription", 201, 201],
  ["getSubscription", 200, 200],
  ["listEvents", 200, 200],
  ["listDeliveries", 200, 200],
  ["editSubscription", 200, 200],
  ["deleteSubscription", 204, 404],
  ["postIncoming", 202, 202],
];

type Described = { method: string; path: string; operation: Operation };

function described(): Described[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

test("every operation of the document is tried", () => {
  const operationIds = described().map(({ operation }) => operation.operationId);
  expect(operationIds.toSorted()).toEqual(outcomes.map(([operationId]) => operationId).toSorted());
});

test.each(outcomes)("the example of %s gets %d, and %d when it is sent again", async (id, first, again) => {
  const found = described().find(({ operation }) => operation.operationId === id);
  if (!found) throw new Error(`the document has no ${id}`);
  const { method, path, operation } = found;
  for (const [type, { example }] of Object.entries(operation.requestBody?.content ?? { none: {} })) {
    const own = await ownThings();
    const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => own.inPath[name] ?? exampleOf(name));
    const body = own.inBody(example);
    const send = (): Promise<Answer<unknown>> =>
      id === "postIncoming"
        ? stage.send(own.token, ...formOf(type, body))
        : stage.api.send(method, address.replace("/api/v1", ""), body);
    const answers = [await send(), await send()];
    expect(
      answers.map(({ status }) => status),
      answers[1]?.text,
    ).toEqual([first, again]);
    if (again === 201) expect(idOf(answers[1])).not.toBe(idOf(answers[0]));
    if (again === 422)
      expect(Object.keys(errorsIn(answers[1]?.json))).toEqual(Object.keys(refused(operation)));
    if (id === "createChannel") expect(errorsIn(answers[1]?.json)).toEqual(refused(operation));
  }
});

/** A channel with a message, a member, a subscription and an incoming webhook, for the ids of the examples to stand for. */
async function ownThings() {
  const channel = await stage.channel("private");
  const message = await stage.post(channel);
  const member = await stage.bot(channel);
  const newcomer = await stage.bot();
  const subscription = await stage.subscribe(
    { url: "https://receiver.example.com/" },
    { channel_ids: [channel.id] },
  );
  const { token } = await stage.incoming(channel);
  const inPath: Record<string, string> = {
    channel: channel.id,
    message: message.id,
    user: member.id,
    subscription: subscription.id,
    token,
  };
  const inBody = (example: unknown): object | undefined =>
    example === undefined
      ? undefined
      : (JSON.parse(JSON.stringify(example).replaceAll(exampleIds.user, newcomer.id)) as object);
  return { token, inPath, inBody };
}

/** The example of a parameter that stands for nothing of one's own. */
function exampleOf(name: string): string {
  return encodeURIComponent(String(document.components.parameters[name]?.example));
}

/** The body as a sender of that content type writes it, and the header that goes with it. */
function formOf(type: string, body: object = {}): [body: object | string, headers?: object] {
  if (type === "application/json") return [body];
  const form = new FormData();
  const encoded = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) {
    form.set(name, String(value));
    encoded.set(name, String(value));
  }
  return type === "multipart/form-data" ? [form] : [encoded.toString(), { "content-type": type }];
}

function idOf(answer: Answer<unknown> | undefined): string | undefined {
  return (answer?.json as { data: { id: string } } | undefined)?.data.id;
}

/** What the document says that a 422 of the operation looks like. */
function refused({ responses }: Operation): object {
  const response = responses[422];
  return errorsIn(response && "content" in response && response.content?.["application/json"].example);
}

function errorsIn(refusal: unknown): object {
  return (refusal as { errors?: object } | undefined)?.errors ?? {};
}
