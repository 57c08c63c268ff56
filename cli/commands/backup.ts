import type { Command } from "commander";
import {
  type BackupMade,
  exists,
  hasKeyToSeal,
  makeBackup,
  requireBackupPlace,
} from "../../src/backup/backup.ts";
import { DomainError } from "../../src/errors.ts";
import { explainDataError } from "../../src/system/data-errors.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { newPassphrase, type PassphraseOptions } from "../invocation/passphrase.ts";
import { byteSize } from "../terminal/quantity.ts";

type Options = PassphraseOptions;

/** `parley backup`: a consistent copy of the workspace in one file, while it is served or not. */
export function addBackup(program: Command, invocation: Invocation): void {
  addCommand(program, "backup [file]", {
    summary: "Write a backup of the workspace to a file, while it is served or not",
    examples: [
      "parley backup /mnt/backups/parley.tar",
      "parley backup /mnt/backups/parley.tar --passphrase-file /root/passphrase",
    ],
  })
    .option("--passphrase-file <file>", "seal the key with the passphrase in it; - is standard input")
    .option("--without-key", "leave the key file out")
    .action(async (file: string | undefined, options: Options) => {
      if (file === undefined) throw new DomainError("usage", "Where is the backup written? FILE is missing.");
      await backUp(invocation, file, options);
    });
}

async function backUp(invocation: Invocation, file: string, options: Options): Promise<void> {
  const { dataDir, output, prompts } = invocation;
  const { baseUrl } = invocation;
  requireBackupPlace(dataDir, file);
  const replaces = exists(file);
  if (replaces) await prompts.confirm(`${file} exists already. Replace it?`);
  const passphrase = hasKeyToSeal(dataDir) ? await newPassphrase(invocation, options) : undefined;
  using progress = output.progress();
  const stopping = new AbortController();
  const stop = () => stopping.abort(new DomainError("conflict", "Stopped. There is no backup."));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, stop);
  const copying = {
    signal: stopping.signal,
    onProgress: (done: number, total: number) => progress.showPart("Copying", done, total, byteSize),
  };
  const made = await makeBackup({ dataDir, file, baseUrl, passphrase, replaces, copying }).catch(
    (error: unknown) => {
      throw explainDataError(error, dataDir);
    },
  );
  progress.clear();
  output.done({
    data: backupView(made),
    said: [
      `Wrote a backup of the workspace to ${made.file} (${byteSize(made.bytes)}).`,
      keyLine(made, dataDir),
    ],
    brief: made.file,
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
