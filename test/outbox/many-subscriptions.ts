import type { Database } from "../../src/database/database.ts";
import type { Vault } from "../../src/secrets/vault.ts";
import { createSubscription } from "../../src/subscriptions/subscriptions.ts";
import type { Receiver } from "../support/receivers/receiver.ts";
import { actor } from "../support/workspace.ts";

/** A subscription, and the path at which the receiver gets its events. */
export type Numbered = { id: string; path: string };

/** Creates `count` subscriptions of the receiver to messages, unless `input` says otherwise, each with its own path. */
export async function subscribeOften(
  { database, vault, team }: { database: Database; vault: Vault; team: { id: string } },
  receiver: Pick<Receiver, "url">,
  count: number,
  input: object = {},
): Promise<Numbered[]> {
  const log = { warn: () => {} };
  const parts = { database, vault, guard: { blockPrivate: false }, log, maxSubscriptions: 100_000 };
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const url = new URL(receiver.url);
      url.search = crypto.randomUUID();
      const body = { name: "one of many", url: url.href, events: ["message.created"], ...input };
      const { data } = await createSubscription(parts, team.id, body, actor);
      return { id: data.id, path: url.pathname + url.search };
    }),
  );
}

/** The number of requests for each of the subscriptions, in their order. */
export function requestsFor(
  { requests }: Pick<Receiver, "requests">,
  subscriptions: readonly Numbered[],
): number[] {
  const counts = new Map<string, number>();
  for (const { path } of requests) counts.set(path, (counts.get(path) ?? 0) + 1);
  return subscriptions.map(({ path }) => counts.get(path) ?? 0);
}

/** The texts of the messages received for the subscription, in order of arrival. */
export function textsFor(receiver: Receiver, { path }: Numbered): string[] {
  return receiver.requests
    .filter((request) => request.path === path)
    .map(({ text }) => (JSON.parse(text) as { data: { body: string } }).data.body);
}
