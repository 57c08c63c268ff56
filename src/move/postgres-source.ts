import { notHere } from "../database/move-state.ts";
import { changesLock, lockClass, serversLock } from "../database/postgres/lock-keys.ts";
import { moveState } from "../database/postgres/here.ts";
import { DomainError } from "../errors.ts";
import { closingOnPostgres } from "./closed-tables.ts";
import { countRows, hasTable, readPage } from "./postgres-pages.ts";
import { type MoveSession, openSession } from "./postgres-session.ts";
import type { Source } from "./side.ts";
import type { MovedTable } from "./tables.ts";

/**
 * The workspace in the database of the URL, which is shown as `place`. Nothing can change it until it is closed. One that
 * has left for `target` already is taken too: the last step of its move is missing.
 * @throws DomainError `conflict` when it is being served; `not_found` when there is none, or it is elsewhere; the
 *   driver's error.
 */
export async function openPostgresSource(
  url: string,
  { place, target, tables }: { place: string; target: string; tables: readonly MovedTable[] },
): Promise<Source> {
  await using opening = new AsyncDisposableStack();
  const { session, migrate } = opening.use(await openSession(url, place));
  if (!(await hasTable(session, "migrations")))
    throw new DomainError("not_found", `There is no workspace in ${place}.`);
  await migrate();
  await requireAlone(session, place);
  await session.query("SELECT pg_advisory_lock($1::integer, $2::integer)", [lockClass, changesLock]);
  await session.script("BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE workspace_stamp IN EXCLUSIVE MODE");
  const state = await moveState(session.query);
  if (state && !(state.state === "left" && state.place === target)) throw notHere(state, place);
  const held = opening.move();

  return {
    place,
    count: (table) => countRows(session, table),
    page: (table, after, limit) => readPage(session, table, after, limit),
    async lastNumbers() {
      const found = new Map<string, bigint>();
      for (const { name, key, isNumbered } of tables) {
        if (!isNumbered) continue;
        const { rows: names } = await session.query("SELECT pg_get_serial_sequence($1, $2)", [name, key[0]]);
        const { rows } = await session.query(
          `SELECT (CASE WHEN is_called THEN last_value ELSE last_value - 1 END)::text FROM ${String(names[0]?.[0])}`,
        );
        found.set(name, BigInt(rows[0]?.[0] as string));
      }
      return found;
    },
    async leave(to) {
      await session.query(
        `INSERT INTO move_state (id, state, place, since) VALUES (1, 'left', $1, $2::bigint)
         ON CONFLICT (id) DO UPDATE SET state = excluded.state, place = excluded.place, since = excluded.since`,
        [to, String(Date.now())],
      );
      await session.script(`${closingOnPostgres(tables)} COMMIT`);
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** @throws DomainError `conflict` while a server has the database open, or another move is running. */
export async function requireAlone(session: MoveSession, place: string): Promise<void> {
  const { rows } = await session.query("SELECT pg_try_advisory_lock($1::integer, $2::integer)::integer", [
    lockClass,
    serversLock,
  ]);
  if (Number(rows[0]?.[0]) === 1) return;
  throw new DomainError(
    "conflict",
    `A parley is serving the workspace in ${place}, or moving it. Stop every node of it first.`,
  );
}
