import { Database as SqliteFile } from "bun:sqlite";
import { join } from "node:path";
import type { SqliteDatabase, Transaction } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/open.ts";
import { insertTeam } from "../../src/teams/store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A separate database on disk, as in production. */
export function open(
  options: { lockWaitMs?: number } = {},
): { database: SqliteDatabase; path: string } & AsyncDisposable {
  const folder = temporaryFolder();
  const path = join(folder.path, "parley.db");
  const database = openDatabase(path, options);
  return {
    database,
    path,
    [Symbol.asyncDispose]: async () => {
      await database.close();
      folder[Symbol.dispose]();
    },
  };
}

/** Adds a team with this name and returns it. */
export async function addTeam(tx: Transaction, name: string): Promise<string> {
  await insertTeam(tx, { id: name, name, slug: name, createdAt: 0 });
  return name;
}

/** The teams that a connection of another process sees now. */
export function teamsOnDisk(path: string): string[] {
  using file = new SqliteFile(path, { readonly: true });
  return file
    .query<{ name: string }, []>("SELECT name FROM teams ORDER BY rowid")
    .all()
    .map(({ name }) => name);
}
