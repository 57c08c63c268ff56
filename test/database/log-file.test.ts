import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { openDatabase } from "../../src/database/open.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { addTeam } from "./store.ts";

test("the WAL shrinks again after a large change", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "parley.db");
  const database = openDatabase(path);
  const logMb = () => statSync(`${path}-wal`).size / 1024 / 1024;
  await database.write((tx) => tx.run(sql`INSERT INTO secret_key VALUES (1, zeroblob(${40 * 1024 * 1024}))`));
  expect(logMb()).toBeGreaterThan(40);
  await database.write((tx) => addTeam(tx, "acme"));
  expect(logMb()).toBeLessThanOrEqual(4);
  await database.close();
});
