import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { requireBackupPlace } from "../../src/backup/backup.ts";
import { endSchedule, lastBackup, setSchedule } from "../../src/backup/schedule.ts";
import { DomainError } from "../../src/errors.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { howToBackUp, requireFile } from "../invocation/own-backups.ts";
import { newPassphrase, type PassphraseOptions } from "../invocation/passphrase.ts";
import { relativeTime } from "../terminal/relative-time.ts";
import { byteSize, timeSpan } from "../terminal/quantity.ts";

export type ScheduleOptions = { every?: number | "off"; keep?: number; to?: string };

const keepDefault = 14;

/** `parley backup --every …`: sets the schedule by which the server makes backups, or ends it. */
export async function changeSchedule(
  invocation: Invocation,
  { every, keep = keepDefault, to, ...options }: ScheduleOptions & PassphraseOptions,
): Promise<void> {
  const { dataDir, output, actor } = invocation;
  if (every === undefined || every === "off") {
    const wasSet = await invocation.inWorkspace((database) => database.write((tx) => endSchedule(tx, actor)));
    output.done({
      data: { schedule: null },
      said: wasSet
        ? "The server makes no backups by itself any more. Those it made stay."
        : "There was no schedule.",
      brief: "off",
    });
    return;
  }
  requireFile(invocation, howToBackUp(dataDir));
  const folder = requireFolder(dataDir, to);
  const passphraseFile = await requirePassphraseFile(invocation, options);
  const { schedule } = await invocation.inWorkspace(async (database) => {
    await database.write((tx) => setSchedule(tx, { everyMs: every, keep, folder, passphraseFile }, actor));
    return await database.ask(lastBackup);
  });
  output.done({
    data: { schedule },
    said: [
      `The server makes a backup in ${folder} every ${timeSpan(every)} while it runs, and keeps the last ${keep}.`,
      passphraseFile === null
        ? `The key is not in them: keep a copy of ${dataDir}/secret.key elsewhere, or name a --passphrase-file.`
        : `The key is sealed with the passphrase in ${passphraseFile}, which the server has to be able to read.`,
    ],
    brief: folder,
    next: "parley backup, to see how backups stand",
  });
}

/** `parley backup` alone: when backups were made, and the schedule. */
export async function showBackups(invocation: Invocation): Promise<void> {
  const state = await invocation.inWorkspace(async (database) => await database.ask(lastBackup));
  const { last, failed, schedule } = state;
  if (invocation.place.databaseUrl !== "") {
    const { dataDir, output } = invocation;
    const every = schedule ? `every ${timeSpan(schedule.every_ms)}: it does not run on PostgreSQL` : "none";
    return output.details(
      state,
      [
        ["backups", "by PostgreSQL's own means: pg_dump --format=custom, or pg_basebackup"],
        ["key", `${dataDir}/secret.key: keep a copy besides`],
        ["schedule", every],
      ],
      schedule ? "parley backup --every off" : undefined,
    );
  }
  const lines: Array<[string, string]> = [
    ["last backup", last ? `${relativeTime(last.at)}, ${byteSize(last.bytes ?? 0)}` : "never"],
    ...(last ? [["file", last.file] as [string, string]] : []),
    ...(failed ? [["failed", `${relativeTime(failed.at)}: ${failed.reason}`] as [string, string]] : []),
    [
      "schedule",
      schedule
        ? `every ${timeSpan(schedule.every_ms)} to ${schedule.folder}, the last ${schedule.keep}`
        : "none",
    ],
    ...(schedule ? [["key", schedule.passphrase_file ? "sealed" : "left out"] as [string, string]] : []),
  ];
  const next = schedule ? undefined : "parley backup FILE, or --every 6h --keep 14 --to FOLDER";
  invocation.output.details(state, lines, next);
}

function requireFolder(dataDir: string, to: string | undefined): string {
  if (to === undefined) throw new DomainError("usage", "Where do the backups go? --to FOLDER is missing.");
  const folder = resolve(to);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new DomainError("not_found", `There is no folder ${folder}.`);
  requireBackupPlace(dataDir, join(folder, "backup.tar"));
  return folder;
}

/** The passphrase file by its full path, since the server starts elsewhere; null without one. */
async function requirePassphraseFile(
  invocation: Invocation,
  options: PassphraseOptions,
): Promise<string | null> {
  const { passphraseFile } = options;
  if (passphraseFile === undefined) return null;
  if (passphraseFile === "-")
    throw new DomainError(
      "usage",
      "The server needs the passphrase each time: name a file, not standard input.",
    );
  await newPassphrase(invocation, options);
  return resolve(passphraseFile);
}
