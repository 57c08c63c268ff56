import { expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runJson } from "../support/cli.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("a rotation removes the copies of keys that one left which was killed while it wrote them", async () => {
  using folder = temporaryFolder();
  const dataDir = join(folder.path, "data");
  await runJson(dataDir, ["init", "--team", "Acme", "--owner", "Ada"]);
  const id = "eb49cc89-6759-440f-be86-c66d07b9f363";
  for (const name of [
    `secret.key.new.${id}`,
    `secret.key.old-0123abcd.${id}`,
    "secret.key.old-0123abcd",
    "secret.key.mine",
  ])
    writeFileSync(join(dataDir, name), "half a key");
  const { old_key } = await runJson<{ old_key: string }>(dataDir, ["secrets", "rotate-key"]);
  expect(
    readdirSync(dataDir)
      .filter((name) => name.startsWith("secret.key"))
      .toSorted(),
  ).toEqual(
    ["secret.key", "secret.key.mine", "secret.key.old-0123abcd", `secret.key.old-${old_key}`].toSorted(),
  );
});
