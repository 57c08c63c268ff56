import type { Connection } from "../database/database.ts";
import { selectResults, selectSchedule } from "./store.ts";

const hourMs = 3_600_000;

/** Without a schedule, in milliseconds: somebody who backs up by hand or from cron does so once a week at least. */
const unscheduledMs = 8 * 24 * hourMs;

/** A schedule of a few minutes may need longer than that for one backup, in milliseconds. */
const scheduledMinMs = hourMs;

/** When a backup was made last; null if none was. `isOverdue` says whether there should be a newer one. */
export type LastMade = { at: number | null; isOverdue: boolean };

/**
 * Whether backups stay away at the time `now`, in milliseconds since 1970. With a schedule that is after twice its
 * distance, without one after eight days. Who never made a backup with Parley has others, or wants none. Those of
 * PostgreSQL are made by other programs, so nothing is known of them.
 */
export function lastMade(db: Connection, now: number): LastMade {
  if (db.engine === "postgres") return { at: null, isOverdue: false };
  const { made, by_hand: byHand } = selectResults(db);
  const at = Math.max(made?.at ?? 0, byHand?.at ?? 0);
  const schedule = selectSchedule(db);
  const limitMs = schedule ? Math.max(2 * schedule.everyMs, scheduledMinMs) : unscheduledMs;
  const since = Math.max(at, schedule?.setAt ?? 0);
  return { at: at === 0 ? null : at, isOverdue: since > 0 && now - since > limitMs };
}
