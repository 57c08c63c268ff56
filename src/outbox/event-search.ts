import type { Connection } from "../database/database.ts";
import { selectChannel } from "../channels/store.ts";
import { partOfId, theOnlyWithId } from "../input/reference.ts";
import { selectLastEventSeq } from "./event-store.ts";
import {
  type NumberedEvent,
  selectEventFrom,
  selectEventsById,
  selectEventsMentioning,
  selectNewestEventsById,
} from "./event-search-store.ts";

/**
 * Events are found by their numbers alone, since an index by id would be written with every event. Their numbers are in
 * the order of their times, and ids begin with the time, so a search among the numbers leads to the place of an id.
 */

/** How far from its place an event may be: commits that are under way at once change places. */
const slackMs = 30_000;

/** How many events one search reads. */
const searchedMax = 100_000;

/** The most events that a reference is compared with: one more than can be shown of an ambiguous one. */
const foundMax = 11;

/** How many events about one message are looked for. */
const ofMessageMax = 1_000;

/**
 * Returns the team's event that a command's argument refers to: by its id, or the start or end of that. The end is
 * looked for among the newest 100,000 events.
 * @throws DomainError `not_found`; `conflict`, with the ids, when it may mean several.
 */
export async function findEvent(db: Connection, teamId: string, reference: string): Promise<NumberedEvent> {
  return theOnlyWithId(await eventsReferredTo(db, teamId, reference), "event", reference);
}

/** Returns the team's events that the reference may mean; none if it is no part of an id. */
export async function eventsReferredTo(
  db: Connection,
  teamId: string,
  reference: string,
): Promise<NumberedEvent[]> {
  const part = partOfId(reference);
  if (!part) return [];
  const from = await eventSeqAt(db, timeOf(part.start) - slackMs);
  const beginning = selectEventsById(db, from, searchedMax, part.start, foundMax);
  const ending = selectNewestEventsById(db, searchedMax, part.end, foundMax);
  const found = new Map([...beginning, ...ending].map((event) => [event.seq, event]));
  return [...found.values()].filter((event) => isOfTeam(db, teamId, event));
}

/**
 * Returns the events about the message, oldest first: those among the 100,000 from its posting on, and among those
 * around each of the times `at` at which something is known to have happened to it.
 */
export async function eventsOfMessage(
  db: Connection,
  message: { id: string; createdAt: number },
  at: readonly number[],
): Promise<NumberedEvent[]> {
  const found = new Map<number, NumberedEvent>();
  for (const [index, time] of [message.createdAt, ...at].entries()) {
    const from = await eventSeqAt(db, time - slackMs);
    const searched = index === 0 ? searchedMax : searchedMax / 10;
    for (const event of selectEventsMentioning(db, from, searched, message.id, ofMessageMax))
      if (messageOf(event) === message.id) found.set(event.seq, event);
  }
  return [...found.values()].sort((a, b) => a.seq - b.seq);
}

/** Returns the number of the first event that happened at the time, in milliseconds since 1970, or later. */
export async function eventSeqAt(db: Connection, time: number): Promise<number> {
  let low = 1;
  let high = (await selectLastEventSeq(db)) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const event = selectEventFrom(db, middle);
    if (event === undefined || event.createdAt >= time) high = middle;
    else low = event.seq + 1;
  }
  return low;
}

/** The channel in which the event happened. */
export function channelOf({ data }: Pick<NumberedEvent, "data">): string {
  return (JSON.parse(data) as { channel_id: string }).channel_id;
}

function isOfTeam(db: Connection, teamId: string, event: NumberedEvent): boolean {
  return selectChannel(db, teamId, channelOf(event)) !== undefined;
}

function messageOf({ type, data }: NumberedEvent): string | undefined {
  const { id, message_id } = JSON.parse(data) as { id?: string; message_id?: string };
  return type.startsWith("message.") ? id : message_id;
}

/** When an id that begins with these digits was made at the earliest, in milliseconds since 1970. */
function timeOf(start: string): number {
  return Number.parseInt(start.replaceAll("-", "").slice(0, 12).padEnd(12, "0"), 16);
}
