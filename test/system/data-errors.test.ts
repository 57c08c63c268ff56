import { Database as SqliteFile } from "bun:sqlite";
import { expect, test } from "bun:test";
import { explainDataError } from "../../src/system/data-errors.ts";
import { DomainError } from "../../src/errors.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** What is said of the error that `attempt` ends with. */
function saidOf(dataDir: string, attempt: () => void): string {
  try {
    attempt();
  } catch (error) {
    const refusal = explainDataError(error, dataDir);
    expect(refusal).toBeInstanceOf(DomainError);
    return (refusal as DomainError).message;
  }
  throw new Error("nothing was thrown");
}

test("a database that finds no more room is said to be on a full disk", () => {
  using folder = temporaryFolder();
  using file = new SqliteFile(`${folder.path}/parley.db`);
  file.run("PRAGMA max_page_count = 2");
  file.run("CREATE TABLE filling (content)");
  const said = saidOf(folder.path, () => file.run("INSERT INTO filling VALUES (randomblob(100000))"));
  expect(said).toMatch(/^The disk that holds .* is full\. Nothing is lost: make room/);
});

test.each([
  ["ENOSPC", /^The disk that holds \/data is full/],
  ["EDQUOT", /^The disk that holds \/data is full/],
  ["EROFS", /^\/data\/server\.lock is on a read-only file system\. Mount it read-write, or .*--data-dir/],
  ["EACCES", /^This login may not use \/data\/server\.lock\. .*chown/],
])("the system's %s about a file is put into words that say what to do", (code, words) => {
  const error = Object.assign(new Error(code), { code, path: "/data/server.lock" });
  expect(
    saidOf("/data", () => {
      throw error;
    }),
  ).toMatch(words);
});

test("an error that is about something else stays what it is", () => {
  const error = Object.assign(new Error("no"), { code: "ECONNREFUSED" });
  expect(explainDataError(error, "/data")).toBe(error);
});
