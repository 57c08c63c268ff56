import { Database as SqliteFile } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/open.ts";
import { DomainError } from "../../src/errors.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const first = { name: "0001_first", sql: "CREATE TABLE one (id text); CREATE TABLE two (id text);" };
const second = {
  name: "0002_second",
  sql: "ALTER TABLE one ADD COLUMN name text; INSERT INTO one VALUES ('a', 'b');",
};
const broken = { name: "0003_broken", sql: "CREATE TABLE three (id text); INSERT INTO nowhere VALUES (1);" };

function tables(file: SqliteFile): string[] {
  return file
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all()
    .map(({ name }) => name);
}

describe("migrations", () => {
  test("are applied in order, each once", () => {
    using file = new SqliteFile(":memory:");
    expect(migrate(file, [first])).toEqual(["0001_first"]);
    expect(migrate(file, [first, second])).toEqual(["0002_second"]);
    expect(migrate(file, [first, second])).toEqual([]);
    expect(file.query("SELECT * FROM one").all()).toEqual([{ id: "a", name: "b" }]);
  });

  test("that fail leave nothing behind, keep the earlier ones, and can be retried", () => {
    using file = new SqliteFile(":memory:");
    expect(() => migrate(file, [first, broken])).toThrow("nowhere");
    expect(tables(file)).toEqual(["migrations", "one", "two"]);
    expect(migrate(file, [first, { ...broken, sql: "CREATE TABLE three (id text)" }])).toEqual([
      "0003_broken",
    ]);
  });

  test("that were added between applied ones are applied too", () => {
    using file = new SqliteFile(":memory:");
    migrate(file, [first, { name: "0003_third", sql: "CREATE TABLE three (id text)" }]);
    expect(migrate(file, [first, second, { name: "0003_third", sql: "" }])).toEqual(["0002_second"]);
  });

  test("of a newer binary are rejected by name, and nothing is changed", () => {
    using file = new SqliteFile(":memory:");
    migrate(file, [first, { name: "9999_from_the_future", sql: "CREATE TABLE future (id text)" }]);
    const before = tables(file);
    let rejection: unknown;
    try {
      migrate(file, [first, second]);
    } catch (error) {
      rejection = error;
    }
    expect(rejection).toBeInstanceOf(DomainError);
    expect(rejection).toMatchObject({ code: "data_too_new" });
    expect((rejection as DomainError).message).toContain("9999_from_the_future");
    expect(tables(file)).toEqual(before);
    expect(file.query("SELECT count(*) AS count FROM migrations").get()).toEqual({ count: 2 });
  });

  test("are shipped under names whose order is the order in which they are applied", () => {
    const names = migrations.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)].sort());
    for (const name of names) expect(name).toMatch(/^[0-9]{4}_[a-z_]+$/);
  });

  test("are applied once by four programs that open a new database at the same moment", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "parley.db");
    const script = `
      import { openDatabase } from ${JSON.stringify(join(import.meta.dir, "../../src/database/open.ts"))};
      await openDatabase(${JSON.stringify(path)}).close();`;
    const programs = Array.from({ length: 4 }, () =>
      Bun.spawn([process.execPath, "-e", script], { stdin: "ignore", stdout: "ignore", stderr: "pipe" }),
    );
    const errors = await Promise.all(programs.map((program) => program.stderr.text()));
    expect(errors.join("")).toBe("");
    expect(await Promise.all(programs.map((program) => program.exited))).toEqual([0, 0, 0, 0]);
    using file = new SqliteFile(path, { readonly: true });
    expect(file.query("SELECT name FROM migrations ORDER BY name").values()).toEqual(
      migrations.map(({ name }) => [name]),
    );
  });
});

test("an upgrade writes no pages of the tables that it replaces", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "parley.db");
  const before = migrations.slice(0, 5);
  expect(before.at(-1)?.name).toBe("0004_workspace_stamp");
  {
    using file = new SqliteFile(path);
    migrate(file, before);
    const insert =
      file.query(`INSERT INTO messages (id, channel_id, position, author_id, type, body, created_at)
      VALUES (?, 'channel', ?, 'author', 'standard', ?, 0)`);
    file.transaction(() => {
      for (let position = 1; position <= 1_000; position++)
        insert.run(`${position}`, position, "x".repeat(1_000));
    })();
  }
  const bytes = statSync(path).size;
  const database = openDatabase(path);
  const written = statSync(`${path}-wal`).size;
  await database.close();
  // The pages of the new table once, and none of the old one.
  expect(written / bytes).toBeWithin(0.9, 1.4);
});
