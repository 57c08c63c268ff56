import type { Command } from "commander";
import { DomainError } from "../../src/errors.ts";
import { explainDataError } from "../../src/system/data-errors.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { requireFile } from "../invocation/own-backups.ts";
import { stoppingSignal } from "../invocation/stopping.ts";
import { byteSize, counted, timeSpan } from "../terminal/quantity.ts";

/** `parley upgrade --rehearse`: what a new version would make of the data, tried on a copy. */
export function addUpgrade(program: Command, invocation: Invocation): void {
  addCommand(program, "upgrade", {
    summary: "Try an upgrade on a copy of the workspace, while it is served or not",
    examples: ["parley upgrade --rehearse ./parley-new"],
  })
    .option("--rehearse <binary>", "the new version: it migrates and serves the copy")
    .action(async ({ rehearse: binary }: { rehearse?: string }) => {
      if (binary === undefined) {
        throw new DomainError(
          "usage",
          "To upgrade, stop the server, install the new binary and start it. To try that on a copy first, name the new " +
            "binary: --rehearse BINARY.",
        );
      }
      requireFile(
        invocation,
        `To try an upgrade, restore a dump of it to a second database, and let ${binary} serve that, with ` +
          "PARLEY_DATABASE_URL set to it, in a copy of the data folder.",
      );
      await rehearse(invocation, binary);
    });
}

async function rehearse({ dataDir, output }: Invocation, binary: string): Promise<void> {
  const { rehearseUpgrade } = await import("../../src/trial/rehearsal.ts");
  using progress = output.progress();
  const done = await rehearseUpgrade(dataDir, binary, {
    signal: stoppingSignal("Stopped. The workspace is as it was."),
    onProgress: (copied, total) => progress.showPart("Copying", copied, total, byteSize),
  }).catch((error: unknown) => {
    throw explainDataError(error, dataDir);
  });
  progress.clear();
  const { from, to, migrations } = done;
  output.done({
    data: done,
    said: [
      from === to
        ? `${binary} is parley ${to}, the version that you have.`
        : `The upgrade from ${from === null ? "an older parley" : `parley ${from}`} to ${to} works on a copy of this workspace.`,
      migrations.length === 0
        ? "It changes no tables."
        : `It applied ${counted(migrations.length, "migration")} in ${timeSpan(done.migrated_in_ms)}: ${migrations.join(", ")}.`,
      `The database was ${byteSize(done.bytes_before)} before it and ${byteSize(done.bytes_after)} after it.`,
      `It was served after ${timeSpan(done.started_in_ms)}, and ${counted(done.messages, "message")} were read from ` +
        `${counted(done.teams, "team")}.`,
      "The copy is removed; the workspace is as it was.",
    ],
    brief: to,
    next: "parley backup FILE, then install the new binary and restart the server",
  });
}
