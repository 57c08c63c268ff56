import { type MoveState, notHere } from "../database/move-state.ts";
import { postgresMigrations } from "../database/postgres/migrations.ts";
import { moveState } from "../database/postgres/here.ts";
import { DomainError } from "../errors.ts";
import { arrayText } from "./postgres-array.ts";
import { countRows, hasTable, readPage, typeNames } from "./postgres-pages.ts";
import { type MoveSession, openSession } from "./postgres-session.ts";
import { requireAlone } from "./postgres-source.ts";
import { copiedOf, type Target } from "./side.ts";
import { keyOfRow, keyText, type MovedTable, type Row } from "./tables.ts";

/**
 * A database that a workspace from `source` is moved to, which is shown as `place`. It gets its tables, and says that it
 * is not whole, until the end.
 * @throws DomainError `conflict` when it has a workspace, part of one from another source, or other tables; or when it is
 *   in use; the driver's error.
 */
export async function openPostgresTarget(
  url: string,
  { place, source, tables }: { place: string; source: string; tables: readonly MovedTable[] },
): Promise<Target> {
  await using opening = new AsyncDisposableStack();
  const { session, migrate } = opening.use(await openSession(url, place));
  // Looked at before anything is changed, and again when nobody else can change it.
  await requireFree(session, place, source);
  await migrate();
  await requireAlone(session, place);
  const state = await requireFree(session, place, source);
  const restart = async () => {
    const names = [...tables.map(({ name }) => name), "move_progress", "move_state"];
    await session.script("BEGIN");
    await session.script(`TRUNCATE ${names.join(", ")}`);
    await dropSelfReferences(session, tables);
    await session.query(
      "INSERT INTO move_state (id, state, place, since) VALUES (1, 'arriving', $1, $2::bigint)",
      [source, String(Date.now())],
    );
    await session.script("COMMIT");
  };
  if (!state) await restart();
  // A page that a crash of the server takes back, it takes back with its progress.
  await session.script("SET synchronous_commit = off");
  const held = opening.move();

  return {
    place,
    count: (table) => countRows(session, table),
    page: (table, after, limit) => readPage(session, table, after, limit),
    async copied() {
      const { rows } = await session.query("SELECT table_name, last_key, copied FROM move_progress");
      return copiedOf(
        tables,
        rows.map(([name, key, copied]) => ({ name: String(name), key: String(key), copied: Number(copied) })),
      );
    },
    restart,
    async append(table, rows, copied) {
      requireNoNul(table, rows, place);
      const columns = table.columns.map(({ name }) => name).join(", ");
      const arrays = table.columns.map(({ type }, index) => `$${index + 1}::${typeNames[type]}[]`);
      const next = arrays.length + 1;
      await session.query(
        `WITH page AS (INSERT INTO ${table.name} (${columns}) SELECT * FROM unnest(${arrays.join(", ")}))
         INSERT INTO move_progress (table_name, last_key, copied) VALUES ($${next}, $${next + 1}, $${next + 2}::bigint)
         ON CONFLICT (table_name) DO UPDATE SET last_key = excluded.last_key, copied = excluded.copied`,
        [
          ...table.columns.map((_, place) => arrayText(rows.map((row) => row[place] ?? null))),
          table.name,
          keyText(copied.lastKey),
          String(copied.rows),
        ],
      );
    },
    async finish(lastNumbers) {
      await session.script("SET synchronous_commit = on; BEGIN");
      await addSelfReferences(session, tables);
      for (const [name, last] of lastNumbers) {
        const key = tables.find((table) => table.name === name)?.key[0];
        await session.query("SELECT setval(pg_get_serial_sequence($1, $2), $3::bigint, $4::integer = 1)", [
          name,
          key,
          String(last > 0n ? last : 1n),
          last > 0n ? "1" : "0",
        ]);
      }
      await session.script("DELETE FROM move_progress; DELETE FROM move_state; COMMIT");
      // Without statistics the first queries of the new tables would be planned badly.
      await session.script("ANALYZE");
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/**
 * Drops the tables of an unfinished move with what was copied. Returns whether there was one.
 * @throws DomainError `conflict` when the database is in use; the driver's error.
 */
export async function discardFromPostgres(url: string, place: string): Promise<boolean> {
  await using opened = await openSession(url, place);
  const { session } = opened;
  if (!(await hasTable(session, "move_state"))) return false;
  await requireAlone(session, place);
  if ((await moveState(session.query))?.state !== "arriving") return false;
  const tables = ["migrations", ...createdBy(/^CREATE (?:UNLOGGED )?TABLE (\w+)/gm)];
  const functions = createdBy(/^CREATE (?:OR REPLACE )?FUNCTION (\w+)/gm);
  await session.script(
    `BEGIN; DROP TABLE IF EXISTS ${tables.join(", ")} CASCADE;
       DROP FUNCTION IF EXISTS ${functions.join(", ")} CASCADE; COMMIT`,
  );
  return true;
}

/** What the migrations create by statements of this form, which begin a line. */
function createdBy(statement: RegExp): string[] {
  return postgresMigrations.flatMap(({ sql }) => [...sql.matchAll(statement)].map(([, name = ""]) => name));
}

/**
 * Returns how far a move from `source` has come there before; undefined when the database is empty.
 * @throws DomainError as `openPostgresTarget`.
 */
async function requireFree(
  session: MoveSession,
  place: string,
  source: string,
): Promise<MoveState | undefined> {
  if (!(await hasTable(session, "migrations"))) {
    for (const name of createdBy(/^CREATE (?:UNLOGGED )?TABLE (\w+)/gm)) {
      if (await hasTable(session, name)) throw taken(place, `a table ${name} of something else`);
    }
    return undefined;
  }
  const state = (await hasTable(session, "move_state")) ? await moveState(session.query) : undefined;
  if (state && (state.state !== "arriving" || state.place !== source)) throw notHere(state, place);
  if (state || !(await hasTable(session, "teams"))) return state;
  const { rows } = await session.query("SELECT slug FROM teams LIMIT 1");
  const [team] = rows;
  if (team) throw taken(place, `a workspace already (team ${String(team[0])})`);
  return undefined;
}

function taken(place: string, what: string): DomainError {
  return new DomainError(
    "conflict",
    `${place} has ${what}. Create an empty database for the workspace, and move there.`,
  );
}

/** A reply may come before its message, in another page, so the table has no such foreign keys until all are there. */
async function dropSelfReferences(session: MoveSession, tables: readonly MovedTable[]): Promise<void> {
  for (const { name } of tables) {
    const { rows } = await session.query(
      "SELECT conname FROM pg_constraint WHERE contype = 'f' AND conrelid = $1::regclass AND confrelid = conrelid",
      [name],
    );
    for (const [constraint] of rows)
      await session.script(`ALTER TABLE ${name} DROP CONSTRAINT "${String(constraint)}"`);
  }
}

async function addSelfReferences(session: MoveSession, tables: readonly MovedTable[]): Promise<void> {
  for (const { name, selfReferences } of tables) {
    for (const { column, to } of selfReferences)
      await session.script(`ALTER TABLE ${name} ADD FOREIGN KEY (${column}) REFERENCES ${name} (${to})`);
  }
}

/** @throws DomainError `invalid` for a text that PostgreSQL cannot store. */
function requireNoNul(table: MovedTable, rows: readonly Row[], place: string): void {
  for (const row of rows) {
    const at = row.findIndex((value) => typeof value === "string" && value.includes("\0"));
    if (at < 0) continue;
    throw new DomainError(
      "invalid",
      `${table.name}.${table.columns[at]?.name} has the character U+0000 in the row ${keyText(keyOfRow(table, row))}, ` +
        `which ${place} cannot store. Remove it from the row, then go on with the same command.`,
    );
  }
}
