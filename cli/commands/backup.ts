import { constants, setPriority } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  type BackupMade,
  exists,
  hasKeyToSeal,
  makeBackup,
  requireBackupPlace,
} from "../../src/backup/backup.ts";
import { migrations } from "../../src/database/migrations.ts";
import { DomainError } from "../../src/errors.ts";
import { explainDataError } from "../../src/system/data-errors.ts";
import { noteResult } from "../../src/backup/schedule.ts";
import { addCommand } from "../invocation/command.ts";
import { parseDuration } from "../invocation/durations.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { howToBackUp, requireFile } from "../invocation/own-backups.ts";
import { knownPassphrase, newPassphrase, type PassphraseOptions } from "../invocation/passphrase.ts";
import { stoppingSignal } from "../invocation/stopping.ts";
import { wholeNumber } from "../invocation/whole-number.ts";
import { byteSize, counted, timeSpan } from "../terminal/quantity.ts";
import { changeSchedule, type ScheduleOptions, showBackups } from "./backup-schedule.ts";

type Options = PassphraseOptions & ScheduleOptions & { verify?: true; scheduled?: true };

/** How much longer than it copies a backup rests, so that requests and deliveries come first. */
const restFactor = 2;

/** `parley backup`: a consistent copy of the workspace in one file, while it is served or not. */
export function addBackup(program: Command, invocation: Invocation): void {
  addCommand(program, "backup [file]", {
    summary: "Back up the workspace to a file, while it is served or not",
    examples: [
      "parley backup /mnt/backups/parley.tar",
      "parley backup --verify /mnt/backups/parley.tar",
      "parley backup --every 6h --keep 14 --to /mnt/backups",
      "parley backup --every off",
    ],
  })
    .option("--passphrase-file <file>", "seal the key with the passphrase in it; - is standard input")
    .option("--without-key", "leave the key file out")
    .option("--verify", "check FILE, and serve a copy of it for a moment")
    .option("--every <span>", "let the server make backups by itself, or off", parseSpan)
    .option("--keep <number>", "how many of those to keep (default: 14)", wholeNumber(1, 100_000))
    .option("--to <folder>", "the folder for those")
    .addOption(new Option("--scheduled").hideHelp())
    .action(async (file: string | undefined, options: Options) => {
      if (options.every !== undefined && (file !== undefined || options.verify)) {
        throw new DomainError("usage", "--every sets a schedule and takes no FILE. Give one or the other.");
      }
      if (options.every !== undefined) return await changeSchedule(invocation, options);
      if (options.keep !== undefined || options.to !== undefined) {
        throw new DomainError(
          "usage",
          "--keep and --to belong to a schedule: --every 6h --keep 14 --to FOLDER.",
        );
      }
      if (options.verify) return await verify(invocation, file, options);
      if (file === undefined) return await showBackups(invocation);
      await backUp(invocation, file, options);
    });
}

/** Milliseconds, or `off`. */
function parseSpan(text: string): number | "off" {
  if (text === "off") return text;
  try {
    return parseDuration(text);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new InvalidArgumentError("It takes a number and a unit, such as 30m, 6h or 1d, or off.");
  }
}

async function backUp(invocation: Invocation, file: string, options: Options): Promise<void> {
  const { dataDir, output, prompts, baseUrl } = invocation;
  requireFile(invocation, howToBackUp(dataDir));
  requireBackupPlace(dataDir, file);
  const replaces = exists(file);
  if (replaces) await prompts.confirm(`${file} exists already. Replace it?`);
  const passphrase = hasKeyToSeal(dataDir) ? await newPassphrase(invocation, options) : undefined;
  // Requests and deliveries come first.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  using progress = output.progress();
  const copying = {
    signal: stoppingSignal("Stopped. There is no backup."),
    restFactor,
    onProgress: (done: number, total: number) => progress.showPart("Copying", done, total, byteSize),
  };
  const made = await makeBackup({ dataDir, file, baseUrl, passphrase, replaces, copying }).catch(
    (error: unknown) => {
      throw explainDataError(error, dataDir);
    },
  );
  progress.clear();
  if (!options.scheduled) await noteMade(invocation, made);
  output.done({
    data: backupView(made),
    said: [
      `Wrote a backup of the workspace to ${made.file} (${byteSize(made.bytes)}).`,
      keyLine(made, dataDir),
    ],
    brief: made.file,
    next: `parley backup --verify ${made.file}`,
  });
}

/** Notes the backup for `parley status`, unless the data is of another version: a backup before an upgrade changes nothing. */
async function noteMade(invocation: Invocation, { file, bytes, manifest }: BackupMade): Promise<void> {
  if (
    manifest.migrations.join() !==
    migrations
      .map(({ name }) => name)
      .toSorted()
      .join()
  )
    return;
  const at = Date.parse(manifest.created_at);
  try {
    await invocation.inWorkspace((database) =>
      database.write((tx) => noteResult(tx, { kind: "by_hand", at, file, bytes, reason: null })),
    );
  } catch (error) {
    invocation.output.note(
      `The backup could not be noted for parley status: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

async function verify(invocation: Invocation, file: string | undefined, options: Options): Promise<void> {
  if (file === undefined) throw new DomainError("usage", "Which backup is verified? FILE is missing.");
  const { output } = invocation;
  const { verifyBackup } = await import("../../src/trial/verify.ts");
  const passphrase =
    options.passphraseFile === undefined ? undefined : await knownPassphrase(invocation, options);
  using progress = output.progress();
  const { manifest, ...found } = await verifyBackup(file, passphrase, {
    signal: stoppingSignal("Stopped."),
    onProgress: (done, total) => progress.showPart("Checking", done, total, byteSize),
  });
  progress.clear();
  const { created_at, parley } = manifest;
  output.done({
    data: { file, created_at, parley, ...found },
    said: [
      `${file} is whole: a backup of ${created_at}, made by parley ${parley}.`,
      `A copy was served after ${timeSpan(found.started_in_ms)}, and ${counted(found.messages, "message")} were read ` +
        `from ${counted(found.teams, "team")}.`,
      {
        opened: "The key in it opens with the passphrase.",
        sealed: "The key in it is sealed. To try the passphrase: --passphrase-file FILE.",
        left_out: "The key is not in it.",
      }[found.key],
    ],
    brief: file,
  });
}

function backupView({ file, bytes, manifest, key }: BackupMade) {
  const { created_at, parley, workspace } = manifest;
  return { file, bytes, created_at, parley, workspace, key };
}

function keyLine({ key }: BackupMade, dataDir: string): string {
  switch (key) {
    case "sealed":
      return "The key file is in it, sealed with the passphrase: nobody can open it without, you included.";
    case "left_out":
      return `The key file is not in it. Keep a copy of ${dataDir}/secret.key elsewhere: signing secrets need it.`;
    case "not_in_folder":
      return "There is no key file in the data folder, so none is in it. Keep PARLEY_SECRET_KEY elsewhere.";
  }
}
