import { expect, test } from "bun:test";
import { chownSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { giveToOwnerOf } from "../../src/backup/pending-restore.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("a link that the folder's owner puts there gets nobody's file", () => {
  using folder = temporaryFolder();
  const [owned, file] = [join(folder.path, "data"), join(folder.path, "not-the-owners")];
  mkdirSync(owned);
  writeFileSync(file, "");
  const { uid } = statSync(file);
  symlinkSync(file, join(owned, "server.lock"));
  if (process.geteuid?.() === 0) chownSync(owned, 12_345, 12_345);
  giveToOwnerOf(owned, join(owned, "server.lock"));
  expect(statSync(file).uid).toBe(uid);
});
