import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { keyIn, openRestorable, restoreBackup, type Restored } from "../../src/backup/restore.ts";
import { DomainError } from "../../src/errors.ts";
import { explainDataError } from "../../src/system/data-errors.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { requireFile } from "../invocation/own-backups.ts";
import { knownPassphrase, type PassphraseOptions } from "../invocation/passphrase.ts";
import { byteSize } from "../terminal/quantity.ts";

/** `parley restore`: puts a backup in the place of the workspace in the data folder. */
export function addRestore(program: Command, invocation: Invocation): void {
  addCommand(program, "restore [file]", {
    summary: "Check a backup, then put it in place of the workspace, which is kept",
    examples: [
      "parley restore /mnt/backups/parley.tar",
      "parley restore /mnt/backups/parley.tar --passphrase-file /root/passphrase",
    ],
  })
    .option("--passphrase-file <file>", "the passphrase of the key is in it; - is standard input")
    .option("--without-key", "leave the key in the backup; keep the key file there is")
    .action(async (file: string | undefined, options: PassphraseOptions) => {
      if (file === undefined) throw new DomainError("usage", "Which backup is restored? FILE is missing.");
      requireFile(
        invocation,
        "Use pg_restore for its dumps. To bring a backup of a data folder there: restore it without " +
          "PARLEY_DATABASE_URL, then parley move --to URL",
      );
      await restore(invocation, file, options);
    });
}

async function restore(invocation: Invocation, file: string, options: PassphraseOptions): Promise<void> {
  const { dataDir, output, prompts } = invocation;
  using archive = openRestorable(file);
  const { created_at } = archive.manifest;
  if (existsSync(join(dataDir, "parley.db"))) {
    await prompts.confirm(`Replace the workspace in ${dataDir} with its backup of ${created_at}?`);
  }
  const passphrase = archive.manifest.key === null ? undefined : await knownPassphrase(invocation, options);
  const keyText = keyIn(archive, passphrase);
  using progress = output.progress();
  const onProgress = (done: number, total: number) => progress.showPart("Checking", done, total, byteSize);
  const restored = await restoreBackup(archive, dataDir, keyText, { onProgress }).catch((error: unknown) => {
    throw explainDataError(error, dataDir);
  });
  progress.clear();
  output.done({
    data: {
      ...restored,
      manifest: undefined,
      data_dir: dataDir,
      created_at,
      parley: restored.manifest.parley,
    },
    said: linesOf(restored, dataDir),
    brief: dataDir,
    next: "start the server, which holds deliveries until you decide: parley deliveries held",
  });
}

function linesOf({ manifest, kept, key }: Restored, dataDir: string): string[] {
  return [
    `Restored the workspace of ${manifest.created_at}, made by parley ${manifest.parley}, in ${dataDir}.`,
    ...(kept === null ? [] : [`What was there is kept in ${kept}. Remove it when you no longer need it.`]),
    {
      restored: "The key file came from the backup.",
      kept: `The key file that was in ${dataDir} was kept.`,
      missing: `There is no key file: put the secret.key of this workspace into ${dataDir}, or set PARLEY_SECRET_KEY.`,
    }[key],
  ];
}
