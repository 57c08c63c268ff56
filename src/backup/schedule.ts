import { record } from "../audit/audit.ts";
import type { Connection, Transaction } from "../database/database.ts";
import { listTeams } from "../teams/teams.ts";
import { timestamp } from "../timestamp.ts";
import {
  deleteSchedule,
  type ResultRow,
  type ScheduleRow,
  selectResults,
  selectSchedule,
  upsertResult,
  upsertSchedule,
} from "./store.ts";
import { now } from "../system/repeatable.ts";

/** After a failed backup the next try comes this much later, in milliseconds, or sooner if the schedule says so. */
export const retryMs = 15 * 60_000;

/** What the server does by itself: how often, how many of its backups it keeps, and where. */
export type Schedule = {
  every_ms: number;
  keep: number;
  folder: string;
  passphrase_file: string | null;
  /** When the next backup is due. */
  next_at: string;
};

/** How backups stand, named as in JSON. */
export type BackupState = {
  /** The last backup that was made, by the schedule or by hand. */
  last: { at: string; file: string; bytes: number | null } | null;
  /** Why the last backup of the schedule failed; null if it did not. */
  failed: { at: string; file: string; reason: string } | null;
  schedule: Schedule | null;
};

/** When backups were made and when the next one is due. Reads four rows. */
export function lastBackup(db: Connection): BackupState {
  const { made, failed, by_hand: byHand } = selectResults(db);
  const last = (made?.at ?? 0) > (byHand?.at ?? 0) ? made : byHand;
  const schedule = selectSchedule(db);
  return {
    last: last ? { at: timestamp(last.at), file: last.file, bytes: last.bytes } : null,
    failed: hasFailed(made, failed)
      ? { at: timestamp(failed.at), file: failed.file, reason: failed.reason ?? "" }
      : null,
    schedule: schedule
      ? {
          every_ms: schedule.everyMs,
          keep: schedule.keep,
          folder: schedule.folder,
          passphrase_file: schedule.passphraseFile,
          next_at: timestamp(dueAt(db, schedule, now())),
        }
      : null,
  };
}

/**
 * When the next backup of the schedule is due, in milliseconds since 1970: what was missed is due at once. A clock that
 * was set back does not put it off.
 */
export function dueAt(db: Connection, schedule: ScheduleRow, now: number): number {
  const { made, failed } = selectResults(db);
  if (hasFailed(made, failed) && failed.at >= schedule.setAt)
    return Math.min(failed.at, now) + Math.min(retryMs, schedule.everyMs);
  if (made && made.at >= schedule.setAt) return Math.min(made.at, now) + schedule.everyMs;
  return Math.min(schedule.setAt, now);
}

function hasFailed(made: ResultRow | undefined, failed: ResultRow | undefined): failed is ResultRow {
  return failed !== undefined && failed.at > (made?.at ?? 0);
}

/** Makes the server back up by this schedule from now on; the first backup is due at once. */
export async function setSchedule(
  tx: Transaction,
  schedule: Omit<ScheduleRow, "setAt">,
  actor: string,
): Promise<void> {
  await upsertSchedule(tx, { ...schedule, setAt: now() });
  const { everyMs, keep, folder } = schedule;
  await recordForTeams(tx, actor, "backup.scheduled", { every_ms: everyMs, keep, folder });
}

/** Ends the schedule. Its backups stay. Returns false when there was none. */
export async function endSchedule(tx: Transaction, actor: string): Promise<boolean> {
  if (!selectSchedule(tx)) return false;
  await deleteSchedule(tx);
  await recordForTeams(tx, actor, "backup.unscheduled", {});
  return true;
}

/** Notes how a backup went. */
export async function noteResult(tx: Transaction, result: ResultRow): Promise<void> {
  await upsertResult(tx, result);
}

/** A backup is of all teams. */
async function recordForTeams(
  tx: Transaction,
  actor: string,
  action: string,
  details: Record<string, unknown>,
): Promise<void> {
  for (const { id } of await listTeams(tx))
    await record(tx, { teamId: id, actor, action, target: "workspace", details });
}
