import { eq } from "drizzle-orm";
import type { Database } from "../../src/database/database.ts";
import { subscriptionFilters, subscriptions } from "../../src/database/schema.ts";
import { newSecret } from "../../src/secrets/secret-text.ts";
import type { Vault } from "../../src/secrets/vault.ts";
import { createSubscription } from "../../src/subscriptions/subscriptions.ts";
import type { Receiver } from "../support/receivers/receiver.ts";
import { actor } from "../support/workspace.ts";

/** A subscription, and the path at which the receiver gets its events. */
export type Numbered = { id: string; path: string };

const rowsPerInsert = 200;

/**
 * Makes `count` subscriptions of the receiver to messages, unless `input` says otherwise, each with its own path. The
 * first is created as anybody does, the others have its rows: a thousand creations take longer than most tests.
 */
export async function subscribeOften(
  { database, vault, team }: { database: Database; vault: Vault; team: { id: string } },
  receiver: Pick<Receiver, "url">,
  count: number,
  input: object = {},
): Promise<Numbered[]> {
  const log = { warn: () => {} };
  const parts = { database, vault, guard: { blockPrivate: false }, log, maxSubscriptions: 100_000 };
  const body = { name: "one of many", events: ["message.created"], ...input };
  const { data: first } = await createSubscription(parts, team.id, { ...body, ...address(receiver) }, actor);
  const [row] = await database.ask((db) =>
    db.select().from(subscriptions).where(eq(subscriptions.id, first.id)),
  );
  const filters = await database.ask((db) =>
    db.select().from(subscriptionFilters).where(eq(subscriptionFilters.subscriptionId, first.id)),
  );
  if (!row) throw new Error("the subscription was not made");
  const others = await Promise.all(
    Array.from({ length: count - 1 }, async () => {
      const id = Bun.randomUUIDv7();
      const secret = await database.write((tx) => vault.seal(tx, newSecret("whsec_"), `subscriptions:${id}`));
      return { ...row, id, secret, ...address(receiver) };
    }),
  );
  const filtersOfOthers = others.flatMap(({ id }) =>
    filters.map((filter) => ({ ...filter, subscriptionId: id })),
  );
  await database.write(async (tx) => {
    for (const rows of chunks(others)) await tx.insert(subscriptions).values(rows);
    for (const rows of chunks(filtersOfOthers)) await tx.insert(subscriptionFilters).values(rows);
  });
  return [first, ...others].map(({ id, url }) => ({ id, path: pathOf(url ?? "") }));
}

function address(receiver: Pick<Receiver, "url">): { url: string } {
  const url = new URL(receiver.url);
  url.search = crypto.randomUUID();
  return { url: url.href };
}

function pathOf(address: string): string {
  const { pathname, search } = new URL(address);
  return pathname + search;
}

function chunks<Row>(rows: readonly Row[]): Row[][] {
  return Array.from({ length: Math.ceil(rows.length / rowsPerInsert) }, (_, nth) =>
    rows.slice(nth * rowsPerInsert, (nth + 1) * rowsPerInsert),
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
