import type { Places } from "./lanes.ts";

/** So many requests to receivers that answer quickly are under way at once, where nothing else bounds them. */
const quick = 240;
/** To those that have not been tried lately. */
const fresh = 256;
/** To those that were slow last time: an endpoint that hangs holds its place for as long as `WEBHOOKS_TIMEOUT` says. */
const slow = 1_024;

/** How many of the quick ones subscriptions share that have one under way already. */
export const quickShared = quick / 2;

/** How many requests are under way at once at most. */
export const requestsMax = quick + fresh + slow;

/** The places for `atOnce` requests in all, shared out as they are where there is room for everybody. */
export function placesFor(atOnce: number): Places {
  const part = Math.min(1, atOnce / requestsMax);
  const of = (full: number) => Math.max(1, Math.floor(full * part));
  return { quick: of(quick), new: of(fresh), slow: of(slow) };
}
