import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { readSetting } from "../../src/config.ts";
import { notHere } from "../../src/database/move-state.ts";
import { DomainError } from "../../src/errors.ts";
import { readSecretFile } from "../../src/input/secret-file.ts";
import { keyToCarry } from "../../src/move/key.ts";
import { type Moved, moveWorkspace, type Progress } from "../../src/move/move.ts";
import { type Place, placeOf, placeOfSettings } from "../../src/move/place.ts";
import { openPostgresSource } from "../../src/move/postgres-source.ts";
import { discardFromPostgres, openPostgresTarget } from "../../src/move/postgres-target.ts";
import { departureFrom, openSqliteSource } from "../../src/move/sqlite-source.ts";
import { discardFromFolder, openSqliteTarget } from "../../src/move/sqlite-target.ts";
import { movedTables } from "../../src/move/tables.ts";
import { undoInFolder, undoInPostgres } from "../../src/move/undo.ts";
import { explainDataError } from "../../src/system/data-errors.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { stoppingSignal } from "../invocation/stopping.ts";
import type { Column } from "../terminal/table.ts";
import { counted, timeSpan } from "../terminal/quantity.ts";

type Options = { to?: string; toFile?: string; discard?: true; undo?: true };

/** `parley move`: copies the workspace to another database, which has it from then on. */
export function addMove(program: Command, invocation: Invocation): void {
  addCommand(program, "move", {
    summary: "Move the workspace to PostgreSQL, or back to a folder",
    examples: [
      "parley move --to postgres://parley@db.example.com/parley",
      "parley move --to-file /etc/parley/database-url",
      "parley move --to /var/lib/parley-2",
      "parley move --undo",
    ],
  })
    .option("--to <place>", "the URL of an empty database, or a folder without a workspace")
    .option(
      "--to-file <file>",
      "read the URL from this file, so that its password is in no list of processes",
    )
    .option("--discard", "drop what a move that did not end has copied there")
    .option("--undo", "use the workspace here again, as it was when it was moved")
    .action(async ({ to, toFile, discard, undo }: Options) => {
      const { databaseUrl } = readSetting("databaseUrl", invocation.dataDir, invocation.environment);
      const from = placeOfSettings(databaseUrl, invocation.dataDir);
      const there = to ?? (toFile === undefined ? undefined : urlIn(toFile));
      if (undo && (there !== undefined || discard))
        throw new DomainError("usage", "--undo takes back a move and needs no other option.");
      if (undo) return await undoMove(invocation, from);
      if (there === undefined || (to !== undefined && toFile !== undefined))
        throw new DomainError("usage", "Where is the workspace moved to? Give --to or --to-file.");
      const place = placeOf(there);
      if (place.shown === from.shown)
        throw new DomainError("usage", `The workspace is in ${place.shown} already. Name another place.`);
      await (discard ? discardCopy(invocation, from, place) : move(invocation, from, place));
    });
}

/** @throws DomainError `invalid` when the file has no text. */
function urlIn(path: string): string {
  const read = readSecretFile(resolve(path));
  if ("text" in read) return read.text;
  throw new DomainError("invalid", `--to-file: ${path} ${read.problem}.`);
}

async function move(invocation: Invocation, from: Place, to: Place): Promise<void> {
  const { dataDir, output, prompts } = invocation;
  const departure = from.kind === "folder" ? departureFrom(dataDir) : undefined;
  // Makes the tables those of this version, and says what is wrong with the folder.
  if (from.kind === "folder" && !departure) await invocation.inWorkspace(async () => {});
  await prompts.confirm(
    `Move the workspace in ${from.shown} to ${to.shown}? It is not used here afterwards.`,
  );
  const signal = stoppingSignal(
    `Stopped. The workspace in ${from.shown} is as it was. Go on with the same command, or add --discard.`,
  );
  using progress = output.progress();
  const started = performance.now();
  const { secretKey } = readSetting("secretKey", dataDir, invocation.environment);
  const moved = await carryOut(
    { from, to, dataDir, secretKey },
    { signal, onProgress: progressOn((text) => progress.show(text)) },
  ).catch((error: unknown) => {
    // Its move has ended: it is there, and not in the way there.
    if (departure && error instanceof DomainError && error.code === "conflict")
      throw notHere(departure, from.shown);
    throw explainDataError(error, to.kind === "folder" ? to.shown : dataDir);
  });
  progress.clear();
  show(invocation, { from, to, moved, tookMs: performance.now() - started });
}

async function carryOut(
  { from, to, dataDir, secretKey }: { from: Place; to: Place; dataDir: string; secretKey: string },
  options: Parameters<typeof moveWorkspace>[1],
): Promise<Moved> {
  const tables = movedTables();
  await using source =
    from.kind === "folder"
      ? openSqliteSource(from.shown, { target: to.shown, tables })
      : await openPostgresSource(from.url, { place: from.shown, target: to.shown, tables });
  await using target =
    to.kind === "folder"
      ? openSqliteTarget(to.shown, {
          source: from.shown,
          tables,
          putKey: keyToCarry(dataDir, to.shown, secretKey),
        })
      : await openPostgresTarget(to.url, { place: to.shown, source: from.shown, tables });
  return await moveWorkspace({ source, target, tables }, options);
}

/** Writes how far each table is, with the rate and the time that is left for it. */
function progressOn(show: (text: string) => void): (progress: Progress) => void {
  let begun = { table: "", step: "", at: 0, done: 0 };
  return ({ step, table: name, done, total }) => {
    if (begun.table !== name || begun.step !== step)
      begun = { table: name, step, at: performance.now(), done };
    const seconds = (performance.now() - begun.at) / 1_000;
    const rate = (done - begun.done) / Math.max(seconds, 0.001);
    const percent = total > 0 ? Math.floor((done / total) * 100) : 100;
    const left = rate > 0 && seconds > 1 ? `, ${timeSpan(((total - done) / rate) * 1_000)} left` : "";
    const amount = `${done.toLocaleString("en")} of ${total.toLocaleString("en")} (${percent}%)`;
    const speed = seconds > 1 ? `, ${Math.round(rate).toLocaleString("en")}/s` : "";
    show(`${step === "copying" ? "Copying" : "Checking"} ${name}: ${amount}${speed}${left}`);
  };
}

function show(
  { dataDir, options, output }: Invocation,
  { from, to, moved, tookMs }: { from: Place; to: Place; moved: Moved; tookMs: number },
): void {
  const { tables, digest, resumed } = moved;
  const rows = tables.reduce((sum, each) => sum + each.rows, 0);
  if (!output.isJson && !options.quiet) {
    output.list(
      tables.filter((each) => each.rows > 0),
      columns,
      { none: "" },
    );
  }
  const key = join(dataDir, "secret.key");
  output.done({
    data: { from: from.shown, to: to.shown, rows, digest, resumed_rows: resumed, tables },
    said: [
      `Moved ${counted(rows, "row")} from ${from.shown} to ${to.shown} in ${timeSpan(tookMs)}.`,
      `Both have the same digest: ${digest}`,
      ...(to.kind === "database" && existsSync(key)
        ? [`Every node needs a copy of ${key} in its data folder.`]
        : []),
    ],
    brief: digest,
    next:
      to.kind === "database"
        ? "set PARLEY_DATABASE_URL, then start the server"
        : `unset PARLEY_DATABASE_URL, then parley serve --data-dir ${to.shown}`,
  });
}

const columns: ReadonlyArray<Column<Moved["tables"][number]>> = [
  { title: "TABLE", of: ({ name }) => name },
  { title: "ROWS", of: ({ rows }) => rows.toLocaleString("en") },
  { title: "SHA-256", of: ({ sha256 }) => `${sha256.slice(0, 16)}…` },
];

async function discardCopy({ output, prompts }: Invocation, from: Place, to: Place): Promise<void> {
  await prompts.confirm(`Drop what an unfinished move has copied to ${to.shown}?`);
  const isDropped =
    to.kind === "folder" ? discardFromFolder(to.shown) : await discardFromPostgres(to.url, to.shown);
  const departure = from.kind === "folder" ? departureFrom(from.shown) : undefined;
  output.done({
    data: { place: to.shown, dropped: isDropped },
    said: isDropped
      ? `Dropped what was copied to ${to.shown}.`
      : `No unfinished move was found in ${to.shown}.`,
    brief: to.shown,
    // Interrupted at its very end: the workspace had left already.
    ...(isDropped && departure?.place === to.shown && { next: "parley move --undo" }),
  });
}

async function undoMove({ output, prompts }: Invocation, here: Place): Promise<void> {
  await prompts.confirm(`Use the workspace in ${here.shown} again as it was when it was moved?`);
  const place =
    here.kind === "folder" ? undoInFolder(here.shown) : await undoInPostgres(here.url, here.shown);
  output.done({
    data: { place: here.shown, was_at: place },
    said: [
      `The workspace in ${here.shown} is used here again, as it was when it was moved.`,
      `Stop whatever serves it in ${place}. Deliveries are held until you decide about them.`,
    ],
    brief: here.shown,
    next: "start the server, then: parley deliveries held",
  });
}
