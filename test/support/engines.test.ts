import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { filesOnPostgres, notOnPostgres, testFiles, withoutData } from "./engines.ts";

const root = join(import.meta.dir, "..", "..");

test("every file and folder that does not run on both engines is there", () => {
  const listed = Object.keys({ ...notOnPostgres, ...withoutData });
  expect(listed.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("a test that opens SQLite's file by itself does not run on PostgreSQL", () => {
  const byItself = filesOnPostgres().filter((file) =>
    readFileSync(join(root, file), "utf8").includes('"bun:sqlite"'),
  );
  expect(byItself, "use rowsOf, or say in engines.ts that it is about the file").toEqual([]);
});

test("the API's rules, its permissions and what survives crashes are tried on both engines", () => {
  const both = filesOnPostgres();
  const important = testFiles().filter((file) => /^test\/(acceptance|permissions|crash)\//.test(file));
  expect(important.length).toBeGreaterThan(20);
  expect(important.filter((file) => !both.includes(file))).toEqual([]);
});
