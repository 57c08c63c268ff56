import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, writeFileOnce } from "../../src/system/on-disk.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("a new file is complete, for its owner alone, and leaves nothing next to it", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "secret.key");
  const before = process.umask(0o777);
  try {
    writeFileOnce(path, "the key\n");
  } finally {
    process.umask(before);
  }
  expect(readFileSync(path, "utf8")).toBe("the key\n");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder.path)).toEqual(["secret.key"]);
});

test("a file that cannot be completed leaves nothing at all", () => {
  using folder = temporaryFolder();
  // A folder cannot be replaced by a file, and only the last step finds out.
  const path = join(folder.path, "taken");
  makeFolder(join(path, "inside"));
  expect(() => writeFileOnce(path, "the key\n")).toThrow();
  expect(readdirSync(folder.path)).toEqual(["taken"]);
});

test("folders are created with their parents, for their owner alone; an existing one is left unchanged", () => {
  using folder = temporaryFolder();
  const deep = join(folder.path, "a", "b", "c");
  makeFolder(`${deep}/`);
  expect(statSync(deep).mode & 0o777).toBe(0o700);
  symlinkSync(deep, join(folder.path, "link"));
  makeFolder(join(folder.path, "link", "d"));
  makeFolder(deep);
  expect(readdirSync(deep)).toEqual(["d"]);
});
