import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { environmentOf } from "./support/engine.ts";
import { runJson } from "./support/cli.ts";
import { labelledBlocks } from "./support/documents.ts";
import { parley } from "./support/server.ts";
import { settingKeys } from "./support/settings.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { openWorkspace } from "./support/workspace.ts";

test("the commands that the README shows work on a new workspace, as they stand there", async () => {
  using folder = temporaryFolder();
  {
    await using workspace = await openWorkspace(folder.path);
    await workspace.team("Acme");
  }
  const [block] = labelledBlocks("README.md");
  const shell = Bun.spawn(["sh", "-e", "-c", block?.code ?? "false"], {
    env: {
      PATH: `${dirname(parley)}:${process.env.PATH}`,
      PARLEY_DATA_DIR: folder.path,
      ...environmentOf(folder.path),
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [said, noted, status] = await Promise.all([shell.stdout.text(), shell.stderr.text(), shell.exited]);
  expect(status, said + noted).toBe(0);
  for (const secret of [/^ {2}ply_bot_\w+$/m, /\/webhooks\/incoming\/ply_in_\w+$/m, /^ {2}whsec_\w+$/m]) {
    expect(said).toMatch(secret);
  }
  expect(await runJson<object[]>(folder.path, ["webhooks", "list"])).toMatchObject([{ name: "CI" }]);
});

test("the README lists every setting, and nothing else but the data folder, which the file cannot name", () => {
  const text = readFileSync(join(import.meta.dir, "..", "README.md"), "utf8");
  const rows = [...text.matchAll(/^\| (`[A-Z_`, ]+`) \|/gm)].flatMap(
    ([, names = ""]) => names.match(/[A-Z_]+/g) ?? [],
  );
  const listed = rows.map((name) => name.replace(/^PARLEY_/, "").toLowerCase());
  expect(listed.toSorted()).toEqual([...settingKeys(), "data_dir"].toSorted());
});
