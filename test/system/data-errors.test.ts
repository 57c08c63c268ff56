import { Database as SqliteFile } from "bun:sqlite";
import { expect, test } from "bun:test";
import { explainDataError } from "../../src/system/data-errors.ts";
import { DomainError } from "../../src/errors.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The message for the error that `attempt` throws. */
function messageOf(dataDir: string, attempt: () => void): string {
  try {
    attempt();
  } catch (error) {
    const explained = explainDataError(error, dataDir);
    expect(explained).toBeInstanceOf(DomainError);
    return (explained as DomainError).message;
  }
  throw new Error("nothing was thrown");
}

test("a database without room is reported as a full disk", () => {
  using folder = temporaryFolder();
  using file = new SqliteFile(`${folder.path}/parley.db`);
  file.run("PRAGMA max_page_count = 2");
  file.run("CREATE TABLE filling (content)");
  const message = messageOf(folder.path, () => file.run("INSERT INTO filling VALUES (randomblob(100000))"));
  expect(message).toMatch(/^The disk that holds .* is full\. Nothing is lost: make room/);
});

test.each([
  ["ENOSPC", /^The disk that holds \/data is full/],
  ["EDQUOT", /^The disk that holds \/data is full/],
  ["EROFS", /^\/data\/server\.lock is on a read-only file system\. Mount it read-write, or .*--data-dir/],
  ["EACCES", /^This login may not use \/data\/server\.lock\. .*chown/],
])("the system's %s about a file becomes a message with a remedy", (code, words) => {
  const error = Object.assign(new Error(code), { code, path: "/data/server.lock" });
  expect(
    messageOf("/data", () => {
      throw error;
    }),
  ).toMatch(words);
});

test("an error about something else is returned unchanged", () => {
  const error = Object.assign(new Error("no"), { code: "ECONNREFUSED" });
  expect(explainDataError(error, "/data")).toBe(error);
});
