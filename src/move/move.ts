import { DomainError } from "../errors.ts";
import { digestOf, digestOfAll, pagesOf, type TableDigest } from "./digest.ts";
import type { Copied, Side, Source, Target } from "./side.ts";
import type { MovedTable } from "./tables.ts";

/** A table that was moved, with the digest that both sides have. */
export type MovedRows = TableDigest & { name: string };

/** What a move has done. `digest` is that of all tables. */
export type Moved = {
  tables: MovedRows[];
  digest: string;
  /** How many rows an earlier run had copied. */
  resumed: number;
};

/** How far a move is: how many of the rows of the table are copied or compared. */
export type Progress = { step: "copying" | "checking"; table: string; done: number; total: number };

/**
 * Copies all tables, goes on where an earlier run ended if the source is still as it was then, and compares the digests
 * of both sides. Then the source says that its workspace has left, and last of all the target is whole: at no moment can
 * both be served.
 * @throws DomainError `conflict` when the sides differ; the reason of `signal`; what the sides throw. The source is
 *   unchanged then, and the target says that it is not whole.
 */
export async function moveWorkspace(
  { source, target, tables }: { source: Source; target: Target; tables: readonly MovedTable[] },
  { onProgress, signal }: { onProgress: (progress: Progress) => void; signal: AbortSignal },
): Promise<Moved> {
  const told = (step: Progress["step"], table: MovedTable, total: number, done = 0) => {
    let read = done;
    return (rows: number) => {
      signal.throwIfAborted();
      read += rows;
      onProgress({ step, table: table.name, done: read, total });
    };
  };

  const before = await resumable(source, target, tables, told);
  let resumed = 0;
  for (const table of tables) {
    const copied = before.get(table.name);
    resumed += copied?.rows ?? 0;
    const total = await source.count(table);
    const tell = told("copying", table, total, copied?.rows);
    tell(0);
    let rows = copied?.rows ?? 0;
    for await (const page of pagesOf(source, table, { after: copied?.lastKey })) {
      rows += page.rows.length;
      await target.append(table, page.rows, { rows, lastKey: page.lastKey });
      tell(page.rows.length);
    }
  }

  const moved: MovedRows[] = [];
  for (const table of tables) {
    const total = 2 * (await source.count(table));
    const tell = told("checking", table, total);
    const there = await digestOf(source, table, { onRows: tell });
    const here = await digestOf(target, table, { onRows: tell });
    if (there.rows !== here.rows || there.sha256 !== here.sha256) throw different(table, source, target);
    moved.push({ name: table.name, ...there });
  }
  const lastNumbers = await source.lastNumbers();
  await source.leave(target.place);
  await target.finish(lastNumbers);
  return { tables: moved, digest: digestOfAll(moved), resumed };
}

/**
 * How far an earlier run has copied each table. When the source has other rows there by now, everything is copied again.
 */
async function resumable(
  source: Source,
  target: Target,
  tables: readonly MovedTable[],
  told: (step: Progress["step"], table: MovedTable, total: number) => (rows: number) => void,
): Promise<Map<string, Copied>> {
  const before = await target.copied();
  for (const table of tables) {
    const copied = before.get(table.name);
    if (!copied || (await isSame(source, target, table, copied, told("checking", table, 2 * copied.rows))))
      continue;
    await target.restart();
    return new Map();
  }
  return before;
}

async function isSame(
  source: Side,
  target: Side,
  table: MovedTable,
  { rows: rowsMax }: Copied,
  onRows: (rows: number) => void,
): Promise<boolean> {
  const there = await digestOf(source, table, { rowsMax, onRows });
  const here = await digestOf(target, table, { rowsMax, onRows });
  return there.rows === here.rows && there.sha256 === here.sha256;
}

function different({ name }: MovedTable, source: Side, target: Side): DomainError {
  return new DomainError(
    "conflict",
    `The copy of ${name} in ${target.place} is not what ${source.place} has. Nothing was changed there. Drop the copy ` +
      "with --discard, and try again.",
  );
}
