import { Database as SqliteFile } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { cached } from "../../src/database/cached.ts";
import { selectChannel, updateArchived } from "../../src/channels/store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

/** The tables that cached functions read, and the columns that they must not depend on. */
const settledTables: Record<string, string[]> = {
  users: [],
  channels: ["last_position"],
  channel_members: [],
  tokens: ["last_used_at"],
  incoming_webhooks: [],
  subscriptions: ["consecutive_failures", "last_success_at", "certificate_ends_at"],
  subscription_filters: [],
};

/** A database with one arbitrary row in each of the settled tables. */
function filledFile(): SqliteFile {
  const file = new SqliteFile(":memory:");
  migrate(file);
  file.run("PRAGMA foreign_keys = OFF");
  file.run("PRAGMA ignore_check_constraints = ON");
  for (const table of Object.keys(settledTables)) {
    const columns = columnsOf(file, table);
    const values = columns.map(({ type }) => (type === "integer" ? "1" : type === "blob" ? "x'00'" : "'a'"));
    const names = columns.map(({ name }) => name).join(", ");
    file.run(`INSERT INTO ${table} (${names}) VALUES (${values.join(", ")})`);
  }
  return file;
}

function columnsOf(file: SqliteFile, table: string): Array<{ name: string; type: string }> {
  const columns = file.query<{ name: string; type: string }, [string]>(
    "SELECT name, lower(type) AS type FROM pragma_table_info(?)",
  );
  return columns.all(table);
}

function stampIn(file: SqliteFile): string | undefined {
  return file.query<{ stamp: string }, []>("SELECT stamp FROM workspace_stamp").get()?.stamp;
}

describe("the cache version", () => {
  test.each(Object.keys(settledTables))("changes when a row of %s is added or deleted", (table) => {
    using file = filledFile();
    const row = file.query<Record<string, never>, []>(`SELECT * FROM ${table}`).get() ?? {};
    const before = stampIn(file);
    file.run(`DELETE FROM ${table}`);
    const without = stampIn(file);
    expect(without).not.toBe(before);
    const names = Object.keys(row);
    const marks = names.map(() => "?").join(", ");
    file.run(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${marks})`, Object.values(row));
    expect(stampIn(file)).not.toBe(without);
  });

  test.each(Object.entries(settledTables))(
    "changes with every column of %s, except for %p",
    (table, volatile) => {
      using file = filledFile();
      for (const { name } of columnsOf(file, table)) {
        const before = stampIn(file);
        file.run(`UPDATE ${table} SET ${name} = ${name}`);
        expect(stampIn(file) === before, name).toBe(volatile.includes(name));
      }
    },
  );
});

describe("a cached function", () => {
  async function startStage() {
    const folder = temporaryFolder();
    const workspace = await openWorkspace(folder.path);
    const { id: teamId, owner } = await workspace.team("Acme");
    const channel = await workspace.channel(owner, "builds");
    let reads = 0;
    const isArchived = cached((db, id: string) => {
      reads++;
      return selectChannel(db, teamId, id)?.isArchived;
    });
    return {
      folder,
      channel,
      database: workspace.database,
      isArchived,
      reads: () => reads,
      async [Symbol.asyncDispose]() {
        await workspace[Symbol.asyncDispose]();
        folder[Symbol.dispose]();
      },
    };
  }

  test("reads the database once, as long as nothing changes", async () => {
    await using stage = await startStage();
    const { database, channel, isArchived } = stage;
    for (let i = 0; i < 3; i++) expect(await database.ask((db) => isArchived(db, channel.id))).toBe(false);
    expect(stage.reads()).toBe(1);
  });

  test("reads the database again after thousands of other keys, so that memory stays bounded", async () => {
    await using stage = await startStage();
    const { database } = stage;
    let reads = 0;
    const length = cached((_db, text: string) => {
      reads++;
      return text.length;
    });
    const ask = async (text: string) => await database.ask((db) => length(db, text));
    await ask("first");
    for (let i = 0; i < 4_096; i++) await ask(`other ${i}`);
    expect(reads).toBe(4_097);
    await ask("other 4095");
    expect(reads).toBe(4_097);
    await ask("first");
    expect(reads).toBe(4_098);
  });

  test("reads the database again after a commit, and on the writing connection even before it", async () => {
    await using stage = await startStage();
    const { database, channel, isArchived } = stage;
    expect(await database.ask((db) => isArchived(db, channel.id))).toBe(false);
    await database.write(async (tx) => {
      expect(isArchived(tx, channel.id)).toBe(false);
      await updateArchived(tx, channel.id, true);
      expect(isArchived(tx, channel.id)).toBe(true);
      expect(await database.ask((db) => isArchived(db, channel.id))).toBe(false);
    });
    expect(await database.ask((db) => isArchived(db, channel.id))).toBe(true);
  });

  test("drops values that a rolled-back write saw", async () => {
    await using stage = await startStage();
    const { database, channel, isArchived } = stage;
    const undone = database.write(async (tx) => {
      await updateArchived(tx, channel.id, true);
      expect(isArchived(tx, channel.id)).toBe(true);
      throw new Error("changed my mind");
    });
    const after = database.write(async (tx) => isArchived(tx, channel.id));
    expect(undone).rejects.toThrow("changed my mind");
    expect(await after).toBe(false);
  });

  test("reads the database again after another process has changed the workspace", async () => {
    await using stage = await startStage();
    const { database, channel, isArchived, folder } = stage;
    expect(await database.ask((db) => isArchived(db, channel.id))).toBe(false);
    await database.write(async (tx) => expect(isArchived(tx, channel.id)).toBe(false));

    const other = openDatabase(join(folder.path, "parley.db"));
    await other.write((tx) => updateArchived(tx, channel.id, true));
    await other.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await database.ask((db) => isArchived(db, channel.id))).toBe(true);
    await database.write(async (tx) => expect(isArchived(tx, channel.id)).toBe(true));
  });
});
