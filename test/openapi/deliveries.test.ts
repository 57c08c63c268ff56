import { expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { exampleSecret } from "../../src/openapi/examples.ts";
import { bodiesOf, complaintsAbout, document } from "./strict-document.ts";

const deliveries = Object.entries(document.webhooks).flatMap(([event, item]) =>
  Object.values(item).map((operation) => ({ event, operation })),
);

test("deliveries are described for every event type", () => {
  expect(deliveries.map(({ event }) => event)).toEqual([
    "message.created",
    "message.updated",
    "message.deleted",
    "reaction.added",
    "channel.member_added",
  ]);
});

test.each(deliveries)(
  "$event carries its headers, and an envelope whose example matches the schema",
  ({ event, operation }) => {
    const headers = operation.parameters.map((parameter) => ("name" in parameter ? parameter.name : ""));
    expect(headers.slice(0, 3)).toEqual(["X-Service-Event", "X-Service-Delivery", "X-Service-Signature"]);
    expect(headers.slice(3, 6)).toEqual(["webhook-id", "webhook-timestamp", "webhook-signature"]);
    expect(headers.slice(6)).toEqual(["X-Service-Cursor"]);
    const [body] = bodiesOf(operation);
    expect(body?.example).toMatchObject({ type: event });
    expect(body && complaintsAbout(body)).toEqual([]);
  },
);

test.each(deliveries)("$event shows the signature that a library computes", ({ operation }) => {
  const examples = new Map(
    operation.parameters.flatMap((parameter) =>
      "name" in parameter ? [[parameter.name, parameter.example] as const] : [],
    ),
  );
  const [body] = bodiesOf(operation);
  const sentAt = new Date(Number(examples.get("webhook-timestamp")) * 1000);
  const signed = new Webhook(exampleSecret).sign(
    String(examples.get("webhook-id")),
    sentAt,
    JSON.stringify(body?.example),
  );
  expect(examples.get("webhook-signature")).toBe(signed);
});
