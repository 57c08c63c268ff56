import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { DomainError } from "../../src/errors.ts";
import { type Moved, moveWorkspace, type Progress } from "../../src/move/move.ts";
import { type Place, placeOf } from "../../src/move/place.ts";
import { discardFromPostgres, openPostgresTarget } from "../../src/move/postgres-target.ts";
import { hasLeft, openSqliteSource } from "../../src/move/sqlite-source.ts";
import { discardFromFolder, openSqliteTarget } from "../../src/move/sqlite-target.ts";
import type { Source, Target } from "../../src/move/side.ts";
import { type MovedTable, movedTables } from "../../src/move/tables.ts";
import { undoInFolder } from "../../src/move/undo.ts";
import { explainDataError } from "../../src/system/data-errors.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { stoppingSignal } from "../invocation/stopping.ts";
import { counted, timeSpan } from "../terminal/quantity.ts";
import type { Column } from "../terminal/table.ts";

type Options = { to?: string; discard?: true; undo?: true };

/** `parley move`: copies the workspace to another database, which has it from then on. */
export function addMove(program: Command, invocation: Invocation): void {
  addCommand(program, "move", {
    summary: "Move the workspace to PostgreSQL, or back to a folder",
    examples: [
      "parley move --to postgres://parley@db.example.com/parley",
      "parley move --to /var/lib/parley-2",
      "parley move --to postgres://parley@db.example.com/parley --discard",
      "parley move --undo",
    ],
  })
    .option("--to <place>", "the URL of an empty database, or a folder without a workspace")
    .option("--discard", "drop what a move that did not end has copied there")
    .option("--undo", "use the workspace here again, as it was when it was moved")
    .action(async ({ to, discard, undo }: Options) => {
      if (undo && (to !== undefined || discard))
        throw new DomainError("usage", "--undo takes back a move and needs no other option.");
      if (undo) return await undoMove(invocation);
      if (to === undefined)
        throw new DomainError("usage", "Where is the workspace moved to? --to is missing.");
      await (discard ? discardCopy(invocation, placeOf(to)) : move(invocation, placeOf(to)));
    });
}

async function move(invocation: Invocation, to: Place): Promise<void> {
  const { dataDir, output, prompts } = invocation;
  if (!hasLeft(dataDir)) await invocation.inWorkspace(async () => {});
  await prompts.confirm(`Move the workspace in ${dataDir} to ${to.shown}? It is not used here afterwards.`);
  const signal = stoppingSignal(
    `Stopped. ${dataDir} is as it was. Go on with the same command, or add --discard.`,
  );
  const tables = movedTables();
  using progress = output.progress();
  const started = performance.now();
  const moved = await carryOut(dataDir, to, tables, {
    signal,
    onProgress: progressOn((text) => progress.show(text)),
  }).catch((error: unknown) => {
    throw explainDataError(error, dataDir);
  });
  progress.clear();
  show(invocation, to, moved, performance.now() - started);
}

async function carryOut(
  dataDir: string,
  to: Place,
  tables: readonly MovedTable[],
  options: Parameters<typeof moveWorkspace>[1],
): Promise<Moved> {
  await using source: Source = openSqliteSource(dataDir, to.shown);
  await using target: Target =
    to.kind === "folder"
      ? openSqliteTarget(to.shown, source.place, tables)
      : await openPostgresTarget(to.url, { place: to.shown, source: source.place, tables });
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

function show(invocation: Invocation, to: Place, { tables, digest, resumed }: Moved, tookMs: number): void {
  const { dataDir, options, output } = invocation;
  const rows = tables.reduce((sum, each) => sum + each.rows, 0);
  const filled = tables.filter((each) => each.rows > 0);
  if (!output.isJson && !options.quiet) output.list(filled, columns, { none: "" });
  output.done({
    data: { from: dataDir, to: to.shown, rows, digest, resumed_rows: resumed, tables },
    said: [
      `Moved ${counted(rows, "row")} from ${dataDir} to ${to.shown} in ${timeSpan(tookMs)}.`,
      `Both have the same digest: ${digest}`,
      ...(to.kind === "database" && existsSync(join(dataDir, "secret.key"))
        ? [`Every node needs a copy of ${join(dataDir, "secret.key")} in its data folder.`]
        : []),
    ],
    brief: digest,
    next:
      to.kind === "database"
        ? "set PARLEY_DATABASE_URL, then start the server"
        : `parley serve --data-dir ${to.shown}`,
  });
}

const columns: ReadonlyArray<Column<Moved["tables"][number]>> = [
  { title: "TABLE", of: ({ name }) => name },
  { title: "ROWS", of: ({ rows }) => rows.toLocaleString("en") },
  { title: "SHA-256", of: ({ sha256 }) => `${sha256.slice(0, 16)}…` },
];

async function discardCopy({ output, prompts }: Invocation, to: Place): Promise<void> {
  await prompts.confirm(`Drop what an unfinished move has copied to ${to.shown}?`);
  const isDropped =
    to.kind === "folder" ? discardFromFolder(to.shown) : await discardFromPostgres(to.url, to.shown);
  output.done({
    data: { place: to.shown, dropped: isDropped },
    said: isDropped
      ? `Dropped what was copied to ${to.shown}.`
      : `No unfinished move was found in ${to.shown}.`,
    brief: to.shown,
  });
}

async function undoMove({ dataDir, output, prompts }: Invocation): Promise<void> {
  await prompts.confirm(`Use the workspace in ${dataDir} again as it was when it was moved?`);
  const { place } = undoInFolder(dataDir);
  output.done({
    data: { data_dir: dataDir, was_at: place },
    said: [
      `The workspace in ${dataDir} is used here again, as it was when it was moved.`,
      `Stop whatever serves it at ${place}. Deliveries are held until you decide about them.`,
    ],
    brief: dataDir,
    next: "start the server, then: parley deliveries held",
  });
}
