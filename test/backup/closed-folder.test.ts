import { expect, test } from "bun:test";
import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { runJson } from "../support/cli.ts";
import { parley } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const nobody = 65_534;

// Only root can act as another login.
const closed =
  process.getuid?.() === 0
    ? ([
        ["enter", 0o700, 0],
        ["write in", 0o755, 0],
        ["read", 0o300, nobody],
      ] as const)
    : [];

test.each(closed)(
  "a folder that this login may not %s is named, with what to do",
  async (_what, mode, owner) => {
    using folder = temporaryFolder();
    chmodSync(folder.path, 0o755);
    const dataDir = join(folder.path, "data");
    const backups = join(folder.path, "backups");
    await runJson(dataDir, ["init", "--team", "Acme", "--owner", "Ada"]);
    for (const path of [dataDir, ...readdirSync(dataDir).map((name) => join(dataDir, name))])
      chownSync(path, nobody, nobody);
    mkdirSync(backups);
    chmodSync(backups, mode);
    chownSync(backups, owner, owner);
    // A copy, since the folder of the binary may be closed to other logins.
    const binary = join(folder.path, "parley");
    copyFileSync(parley, binary);
    const asNobody = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
    const child = Bun.spawn(
      [...asNobody, binary, "--data-dir", dataDir, "backup", join(backups, "a.tar"), "--without-key"],
      { env: {}, stdout: "ignore", stderr: "pipe" },
    );
    expect(await child.stderr.text()).toContain(
      `This login may not read and write in ${backups}. Give the folder`,
    );
    expect(await child.exited).toBe(1);
    expect(readdirSync(backups)).toEqual([]);
  },
);

test("a folder that systemd or a mount keeps read-only is named, with what allows writing there", async () => {
  using folder = temporaryFolder();
  const dataDir = join(folder.path, "data");
  const backups = join(folder.path, "backups");
  await runJson(dataDir, ["init", "--team", "Acme", "--owner", "Ada"]);
  mkdirSync(backups);
  const script =
    'mount -t tmpfs -o ro none "$1" && exec "$2" --data-dir "$3" backup "$1/a.tar" --without-key';
  const within = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh"];
  const child = Bun.spawn([...within, backups, parley, dataDir], { stdout: "ignore", stderr: "pipe" });
  expect(await child.stderr.text()).toContain(
    `${backups} is read-only for this process. A server under systemd`,
  );
  expect(await child.exited).toBe(1);
});
