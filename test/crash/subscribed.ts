import { expect } from "bun:test";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import type { ApiClient } from "../support/client.ts";
import type { WildReceiver } from "../support/receivers/wild-receiver.ts";

/** A receiver with its subscription and the filter of that. */
export type Subscribed = {
  receiver: WildReceiver;
  id: string;
  events: readonly string[];
  channelIds: readonly string[] | null;
};

/** Subscribes the receiver to these events of the channels, or of all. */
export async function subscribe(
  client: ApiClient,
  receiver: WildReceiver,
  events: readonly string[],
  channelIds: readonly string[] | null,
): Promise<Subscribed> {
  const input = { name: "wild", url: receiver.url, events, channel_ids: channelIds };
  const { status, json } = await client.post<{ data: WebhookSubscription; secret: string }>(
    "/webhooks",
    input,
  );
  expect(status).toBe(201);
  receiver.secret = json.secret;
  return { receiver, id: json.data.id, events, channelIds };
}
