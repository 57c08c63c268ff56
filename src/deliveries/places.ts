import { usualConcurrency } from "../outbound/concurrency.ts";
import type { Speed } from "./track-record.ts";

/** How many attempts may be in flight at once, by the speed of their receivers. */
export type Places = Record<Speed, number>;

/**
 * The most requests that one team may have in flight to receivers that respond quickly, if nothing else limits them.
 */
const quick = 2 * usualConcurrency;
/** The same for receivers that have not been tried lately. */
const fresh = 256;
/** The same for receivers that were slow last time: an endpoint that hangs holds its place for `WEBHOOKS_TIMEOUT`. */
const slow = 1_024;

/** How many of the quick places a team's subscriptions share once each has one request in flight. */
export const quickShared = usualConcurrency;

/** The most requests in flight to one host. */
export const hostMost = 60;

/** The share of the places left by the other teams that one team may take. */
const teamShare = 7 / 8;

/**
 * Returns how many of `places` one team may hold while the other teams hold `others`; at least one. The rest stays free
 * for teams that come later, because an endpoint that hangs does not give its place up soon. The last place never goes
 * to a team that already has one.
 */
export function teamMost(places: number, others: number): number {
  return Math.max(1, Math.ceil((places - 1 - others) * teamShare));
}

/** How many places there must be for a single team to get `most` of them. */
function withOthers(most: number): number {
  return Math.ceil(most / teamShare);
}

const full: Places = { quick: withOthers(quick), new: withOthers(fresh), slow: withOthers(slow) };

/** The most requests in flight over all pools. */
export const requestsMax = full.quick + full.new + full.slow;

/** Returns the places for `atOnce` requests in total, in the same proportions as with no limit; at least one each. */
export function placesFor(atOnce: number): Places {
  const part = Math.min(1, atOnce / requestsMax);
  const of = (places: number) => Math.max(1, Math.floor(places * part));
  return { quick: of(full.quick), new: of(full.new), slow: of(full.slow) };
}
