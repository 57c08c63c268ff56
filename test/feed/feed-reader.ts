import { expect } from "bun:test";
import type { EventPage } from "../../src/feed/schemas.ts";
import type { ApiClient } from "../support/client.ts";

/** What a page may be asked for. */
export type Query = { after?: string | undefined; limit?: number; wait?: number };

/** The path of a page of the subscription's events. */
export function pathOf({ id }: { id: string }, query: Query): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  return `/webhooks/${id}/events?${String(given)}`;
}

/** Reads one page of the subscription's events, as the query asks for them. */
export async function readPage(
  api: ApiClient,
  subscription: { id: string },
  query: Query = {},
): Promise<EventPage> {
  const answer = await api.get<EventPage>(pathOf(subscription, query));
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
}

/** Reads all events after the cursor, page by page. */
export async function readAll(
  api: ApiClient,
  subscription: { id: string },
  { after, limit }: { after?: string | undefined; limit?: number } = {},
): Promise<EventPage["data"]> {
  const read: EventPage["data"] = [];
  for (let cursor = after; ;) {
    const { data, meta } = await readPage(api, subscription, {
      after: cursor,
      ...(limit === undefined ? {} : { limit }),
    });
    read.push(...data);
    if (meta.caught_up) return read;
    cursor = meta.next;
  }
}

/** The text of the message that the event is about. */
export function bodyOf({ event }: EventPage["data"][number]): string {
  return (event.data as { body: string }).body;
}
