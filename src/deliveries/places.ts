import type { Speed } from "./track-record.ts";

/** How many attempts may be under way at once to receivers of each speed. */
export type Places = Record<Speed, number>;

/** So many requests to receivers that answer quickly one team has under way at once, where nothing else bounds them. */
const quick = 240;
/** To those that have not been tried lately. */
const fresh = 256;
/** To those that were slow last time: an endpoint that hangs holds its place for as long as `WEBHOOKS_TIMEOUT` says. */
const slow = 1_024;

/** How many of the quick ones the subscriptions of a team share that have one under way already. */
export const quickShared = quick / 2;

/** How many requests may be under way at once to one host. */
export const hostMost = 60;

/** A team has at most this share of the places that the other teams leave. */
const teamShare = 7 / 8;

/**
 * How many of so many places a team may have while the other teams have `others`, at least one. What is left is for
 * teams that come later: an endpoint that hangs holds its place for long, so they must be free beforehand. The last one
 * no team gets that has one already.
 */
export function teamMost(places: number, others: number): number {
  return Math.max(1, Math.ceil((places - 1 - others) * teamShare));
}

/** The places of which a team alone gets so many. */
function withOthers(most: number): number {
  return Math.ceil(most / teamShare);
}

const full: Places = { quick: withOthers(quick), new: withOthers(fresh), slow: withOthers(slow) };

/** How many requests are under way at once at most. */
export const requestsMax = full.quick + full.new + full.slow;

/** The places for `atOnce` requests in all, shared out as they are where there is room for everybody. */
export function placesFor(atOnce: number): Places {
  const part = Math.min(1, atOnce / requestsMax);
  const of = (places: number) => Math.max(1, Math.floor(places * part));
  return { quick: of(full.quick), new: of(full.new), slow: of(full.slow) };
}
