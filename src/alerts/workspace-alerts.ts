import { lastMade } from "../backup/overdue.ts";
import type { Connection } from "../database/database.ts";
import { lowBytes } from "../system/disk-space.ts";
import { timestamp } from "../timestamp.ts";
import type { Alert } from "./alert.ts";
import type { SaidRow } from "./store.ts";

/** A disk that was low has room again from here on, in bytes, so that one at the limit is not spoken of each minute. */
const enoughBytes = 1.5 * lowBytes;

/**
 * What there is to say about the workspace as a whole at the time `now`, in milliseconds since 1970. `freeBytes` is the
 * room on the disk that has the data; undefined where that is not known.
 */
export function workspaceAlerts(
  db: Connection,
  said: ReadonlyMap<string, SaidRow>,
  now: number,
  freeBytes: number | undefined,
): Alert[] {
  return [backupAlert(db, said, now), diskAlert(said, freeBytes)].filter((alert) => alert !== undefined);
}

function backupAlert(db: Connection, said: ReadonlyMap<string, SaidRow>, now: number): Alert | undefined {
  const about = "backup";
  const before = said.get(about);
  const { at, isOverdue } = lastMade(db, now);
  if (isOverdue === (before?.state === "overdue")) return undefined;
  if (isOverdue) {
    const last = at === null ? "none was made yet" : `the last one was made at ${timestamp(at)}`;
    return { about, state: "overdue", body: `A backup is overdue: ${last}. What is known: parley status` };
  }
  // It is over without a backup when the schedule was ended or made rarer.
  const isMade = (at ?? 0) >= (before?.at ?? 0);
  return { about, state: "made", body: isMade ? "A backup was made again." : null };
}

function diskAlert(said: ReadonlyMap<string, SaidRow>, freeBytes: number | undefined): Alert | undefined {
  const about = "disk";
  const isLow = said.get(about)?.state === "low";
  if (freeBytes === undefined) return undefined;
  const free = `${Math.floor(freeBytes / 1_000_000).toLocaleString("en")} MB`;
  if (!isLow && freeBytes < lowBytes) {
    const body = `The disk of the data folder runs low: ${free} are free. Make room on it while Parley can still write.`;
    return { about, state: "low", body };
  }
  if (!isLow || freeBytes < enoughBytes) return undefined;
  return { about, state: "enough", body: `The disk of the data folder has room again: ${free} are free.` };
}
