import type { Database } from "../database/database.ts";
import { selectNewestAttemptTime } from "../deliveries/attempt-store.ts";
import { selectNewestEventTime } from "../outbox/event-store.ts";
import { timestamp } from "../timestamp.ts";
import { type Finding, failed, ok, warning } from "./finding.ts";

/** This program is not older. */
const firstYear = 2026;
const lastYear = 2100;
/** Smaller differences are ordinary corrections, in milliseconds. */
const stepMs = 60_000;

const remedy = "Set the clock, and keep it right with a time service such as systemd-timesyncd or chrony.";

/** Checks that the clock is plausible, and not behind what was recorded already. `ask` is undefined without data. */
export async function checkClock(ask: Database["ask"] | undefined, now = Date.now()): Promise<Finding[]> {
  const check = "clock";
  const year = new Date(now).getUTCFullYear();
  if (year < firstYear || year > lastYear) {
    return [
      failed(check, `It is set to the year ${year}: signatures are refused as too old or too new.`, remedy),
    ];
  }
  const newest = ask
    ? await ask((db) => Math.max(selectNewestEventTime(db), selectNewestAttemptTime(db)))
    : 0;
  if (newest > now + stepMs) {
    return [
      warning(
        check,
        `It runs behind: something was recorded at ${timestamp(newest)} already, and now is ${timestamp(now)}.`,
        remedy,
      ),
    ];
  }
  return [ok(check, timestamp(now))];
}
