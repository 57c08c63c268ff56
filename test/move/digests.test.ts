import { SQL } from "bun";
import { expect, test } from "bun:test";
import { Database as SqliteFile } from "bun:sqlite";
import { join } from "node:path";
import { migrate } from "../../src/database/migrate.ts";
import { type Moved, moveWorkspace } from "../../src/move/move.ts";
import { openPostgresSource } from "../../src/move/postgres-source.ts";
import { openPostgresTarget } from "../../src/move/postgres-target.ts";
import type { Source, Target } from "../../src/move/side.ts";
import { openSqliteSource } from "../../src/move/sqlite-source.ts";
import { openSqliteTarget } from "../../src/move/sqlite-target.ts";
import { openDataFolder } from "../../src/data-folder.ts";
import { type MovedTable, movedTables } from "../../src/move/tables.ts";
import { freshDatabase } from "../support/postgres.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { contentOfTables, fillTables } from "./filled-tables.ts";

/** A workspace comes to PostgreSQL and back as it was, whatever its tables hold. */

const tables = movedTables();
const place = "postgres://127.0.0.1/parley";

async function move(source: Source, target: Target): Promise<Moved> {
  const { signal } = new AbortController();
  return await moveWorkspace({ source, target, tables }, { onProgress: () => {}, signal });
}

/** A database with all tables in the folder. */
function migrated(dataDir: string): string {
  const path = join(dataDir, "parley.db");
  using file = new SqliteFile(path, { create: true });
  file.run("PRAGMA journal_mode = WAL");
  migrate(file);
  return path;
}

test("every row of every table is the same on PostgreSQL and, moved back, the same as before", async () => {
  using folder = temporaryFolder();
  using other = temporaryFolder();
  await using database = await freshDatabase();
  const path = migrated(folder.path);
  fillTables(path, 25);
  const before = contentOfTables(path);

  const there = await (async () => {
    await using source = openSqliteSource(folder.path, { target: place, tables });
    await using target = await openPostgresTarget(database.url, { place, source: folder.path, tables });
    return await move(source, target);
  })();
  for (const { name, rows } of there.tables) expect(rows, name).toBe(before.get(name)?.length ?? -1);
  const back = await (async () => {
    await using source = await openPostgresSource(database.url, { place, target: other.path, tables });
    await using target = openSqliteTarget(other.path, { source: place, tables, putKey: () => {} });
    return await move(source, target);
  })();

  expect(back).toEqual(there);
  expect(contentOfTables(join(other.path, "parley.db"))).toEqual(before);
});

test("a digest tells every change of a value", async () => {
  using folder = temporaryFolder();
  const path = migrated(folder.path);
  fillTables(path, 12);
  const digests = async () => {
    await using source = openSqliteSource(folder.path, { target: place, tables });
    using other = temporaryFolder();
    await using target = openSqliteTarget(other.path, { source: folder.path, tables, putKey: () => {} });
    const { tables: moved, digest } = await moveWorkspace(
      { source: { ...source, leave: () => {} } as Source, target, tables },
      { onProgress: () => {}, signal: new AbortController().signal },
    );
    return new Map([...moved.map(({ name, sha256 }) => [name, sha256] as const), ["all", digest]]);
  };
  const first = await digests();
  const change = (statement: string) => {
    using file = new SqliteFile(path);
    file.run(statement);
  };
  change("UPDATE messages SET edited_at = 0 WHERE edited_at IS NULL");
  const second = await digests();
  const changed = [...first.keys()].filter((name) => first.get(name) !== second.get(name));
  expect(changed).toEqual(["messages", "all"]);
  change("UPDATE users SET email = '' WHERE email IS NULL");
  expect((await digests()).get("users")).not.toBe(second.get("users"));
});

test("no number is given twice after a move, also not that of a row that was removed", async () => {
  using folder = temporaryFolder();
  using other = temporaryFolder();
  await using database = await freshDatabase();
  const path = migrated(folder.path);
  {
    using file = new SqliteFile(path);
    for (let index = 0; index < 3; index++)
      file.run("INSERT INTO events (id, type, data, created_at) VALUES ('e', 'ping', '{}', 0)");
    file.run("DELETE FROM events WHERE seq > 1");
  }
  {
    await using source = openSqliteSource(folder.path, { target: place, tables });
    await using target = await openPostgresTarget(database.url, { place, source: folder.path, tables });
    await move(source, target);
  }
  const sql = new SQL(database.url, { max: 1 });
  const insert = `INSERT INTO events (id, type, data, created_at) VALUES ('e', 'ping', '{}', 0) RETURNING seq::integer`;
  expect([...(await sql.unsafe(insert))]).toEqual([{ seq: 4 }]);
  await sql`DELETE FROM events`;
  await sql.close();
  {
    await using source = await openPostgresSource(database.url, { place, target: other.path, tables });
    await using target = openSqliteTarget(other.path, { source: place, tables, putKey: () => {} });
    await move(source, target);
  }
  using file = new SqliteFile(join(other.path, "parley.db"));
  expect(file.query(insert.replace("seq::integer", "seq")).get()).toEqual({ seq: 5 });
  // Of the attempts there was none at all.
  expect(
    file
      .query(
        `INSERT INTO attempts (id, subscription_id, event_id, event_type, succeeded, is_replay, duration_ms, created_at)
         VALUES ('a', 's', 'e', 'ping', 1, 0, 0, 0) RETURNING seq`,
      )
      .get(),
  ).toEqual({ seq: 1 });
});

test("a text with the character U+0000, which PostgreSQL cannot store, ends the move with its place", async () => {
  using folder = temporaryFolder();
  await using database = await freshDatabase();
  const path = migrated(folder.path);
  fillTables(path, 3);
  {
    using file = new SqliteFile(path);
    file.run("UPDATE messages SET body = 'a' || char(0) || 'b' WHERE id LIKE 'A%'");
  }
  await using source = openSqliteSource(folder.path, { target: place, tables });
  await using target = await openPostgresTarget(database.url, { place, source: folder.path, tables });
  expect(move(source, target)).rejects.toThrow(
    `messages.body has the character U+0000 in the row ["A-messages-1"], which ${place} cannot store.`,
  );
});

test("a move that is cut off between its last two steps leaves nothing to serve twice, and can be ended", async () => {
  using folder = temporaryFolder();
  await using database = await freshDatabase();
  const path = migrated(folder.path);
  fillTables(path, 5);
  const ends = { place, source: folder.path, tables };
  {
    await using source = openSqliteSource(folder.path, { target: place, tables });
    await using target = await openPostgresTarget(database.url, ends);
    const cutOff = { ...target, finish: () => Promise.reject(new Error("cut off")) };
    expect(move(source, cutOff)).rejects.toThrow("cut off");
  }
  expect(() => openDataFolder(folder.path)).toThrow("was moved to postgres://127.0.0.1/parley at ");
  expect(openPostgresSource(database.url, { place, target: "/elsewhere", tables })).rejects.toThrow(
    "has not ended. Go on with the same parley move;",
  );
  await using source = openSqliteSource(folder.path, { target: place, tables });
  await using target = await openPostgresTarget(database.url, ends);
  const { resumed, tables: moved } = await move(source, target);
  expect(resumed).toBe(moved.reduce((sum, { rows }) => sum + rows, 0));
  await target[Symbol.asyncDispose]();
  await using back = await openPostgresSource(database.url, { place, target: "/elsewhere", tables });
  expect(await back.count(tables.find(({ name }) => name === "messages") as MovedTable)).toBe(5);
});
