import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AuditEntry } from "../../src/audit/audit.ts";
import { engine } from "../support/engine.ts";
import { testOnSqlite } from "../support/on-sqlite.ts";
import { run, runJson, runRefused } from "../support/cli.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const init = ["init", "--team", "Acme", "--owner", "Ada Lovelace"];

type Made = {
  team: { id: string; name: string; slug: string };
  owner: { id: string; name: string };
  channel: { id: string };
};

/** The bytes of each file of the folder, by its name. */
function filesOf(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "base64")]),
  );
}

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

describe("parley init", () => {
  test("creates the team, its first owner and #general with the owner in it", async () => {
    using folder = temporaryFolder();
    const dataDir = join(folder.path, "deep", "data");
    const { team, owner, channel } = await runJson<Made>(dataDir, init);
    expect(team).toEqual({ id: expect.any(String), name: "Acme", slug: "acme" });
    expect(owner).toEqual({
      id: expect.any(String),
      name: "Ada Lovelace",
      type: "human",
      role: "owner",
      active: true,
      email: null,
    } as never);
    expect(channel).toMatchObject({
      name: "general",
      slug: "general",
      visibility: "public",
      is_general: true,
      is_archived: false,
      is_direct: false,
    });
    expect(await runJson<unknown>(dataDir, ["channels", "members", "general"])).toEqual([
      { id: owner.id, name: "Ada Lovelace", type: "human" },
    ]);
  });

  test("keeps the data from every other user of the machine", async () => {
    using folder = temporaryFolder();
    const dataDir = join(folder.path, "data");
    await runJson(dataDir, init);
    expect(mode(dataDir)).toBe("700");
    for (const name of readdirSync(dataDir)) expect(mode(join(dataDir, name)), name).toBe("600");
    expect(readdirSync(dataDir)).toContain("secret.key");
  });

  test("leaves the mode of an existing folder alone, and still keeps its own files from others", async () => {
    using folder = temporaryFolder();
    chmodSync(folder.path, 0o755);
    await runJson(folder.path, init);
    expect(mode(folder.path)).toBe("755");
    for (const name of readdirSync(folder.path)) expect(mode(join(folder.path, name)), name).toBe("600");
  });

  test("is refused where a workspace exists, and changes nothing, whatever is missing", async () => {
    using folder = temporaryFolder();
    await runJson(folder.path, init);
    // Another key would hide that the right one has to be put back.
    rmSync(join(folder.path, "secret.key"));
    const before = filesOf(folder.path);
    const { status, message } = await runRefused(folder.path, ["init", "--team", "Other", "--owner", "Eve"]);
    expect(status).toBe(1);
    expect(message).toContain("parley teams create");
    expect(filesOf(folder.path)).toEqual(before);
  });

  test("creates one workspace when several run at once, and tells the others that it exists", async () => {
    using folder = temporaryFolder();
    const ran = await Promise.all([0, 1, 2].map(() => run(folder.path, init)));
    const refused = ran.filter(({ status }) => status !== 0);
    expect(refused.map(({ status }) => status)).toEqual([1, 1]);
    for (const { stderr } of refused) expect(stderr).toContain("parley teams create");
    expect(await runJson<unknown[]>(folder.path, ["teams", "list"])).toHaveLength(1);
  });

  test("can be run again after it rejected a name, which left no key", async () => {
    using folder = temporaryFolder();
    const { status, errors } = await runRefused(folder.path, ["init", "--team", "!!!", "--owner", "Ada"]);
    expect(status).toBe(1);
    expect(Object.keys(errors ?? {})).toEqual(["name"]);
    expect(readdirSync(folder.path)).not.toContain("secret.key");
    await runJson(folder.path, init);
  });

  test("records the login name in the audit log, whatever the environment says", async () => {
    using folder = temporaryFolder();
    const planted = join(folder.path, "id");
    writeFileSync(planted, "#!/bin/sh\necho somebody-else\n");
    chmodSync(planted, 0o755);
    const environment = { USER: "somebody-else", LOGNAME: "somebody-else" };
    await run(folder.path, init, { ...environment, PATH: `${folder.path}:${process.env.PATH}` });
    const login = Bun.spawnSync(["id", "-un"]).stdout.toString().trim();
    const entries = await runJson<AuditEntry[]>(folder.path, ["audit", "list"]);
    expect(entries.map(({ action, actor }) => [action, actor])).toEqual([
      ["channel.created", `cli:${login}`],
      ["user.created", `cli:${login}`],
      ["team.created", `cli:${login}`],
    ]);
  });
});

describe("an unusable data folder is rejected in one line", () => {
  test("when it holds no workspace, with the command to run", async () => {
    using folder = temporaryFolder();
    const nowhere = join(folder.path, "nowhere");
    for (const args of [
      ["teams", "list"],
      ["serve", "--port", "0"],
      ["tokens", "list"],
    ]) {
      const { status, stdout, stderr } = await run(nowhere, args);
      expect({ status, stdout }).toEqual({ status: 3, stdout: "" });
      const place = engine === "sqlite" ? nowhere : "the database of PARLEY_DATABASE_URL";
      expect(stderr).toStartWith(`error: There is no workspace in ${place}. `);
      expect(stderr).toEndWith("parley init --team NAME --owner NAME\n");
      expect(stderr.trim()).not.toContain("\n");
    }
    expect(readdirSync(folder.path)).toEqual([]);
  });

  testOnSqlite("when its database is something else", async () => {
    using folder = temporaryFolder();
    writeFileSync(
      join(folder.path, "parley.db"),
      "This is no database, and it is long enough to be one.".repeat(99),
    );
    const { status, message } = await runRefused(folder.path, ["teams", "list"]);
    expect(status).toBe(1);
    expect(message).toContain("not a database");
  });

  test("when it is a file or inside one", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "file");
    writeFileSync(file, "");
    for (const dataDir of [file, join(file, "data")]) {
      const { status, message } = await runRefused(dataDir, init);
      expect(status).toBe(1);
      expect(message).toContain("is not a folder");
    }
  });

  test("when neither an option nor the environment says where it is", async () => {
    const { status, stderr } = await run("", ["teams", "list"], { HOME: "" });
    expect(status).toBe(2);
    expect(stderr).toContain("--data-dir DIR");
  });
});

test("--data-dir overrides the environment, before the noun and after the verb", async () => {
  using folder = temporaryFolder();
  const [one, other] = [join(folder.path, "one"), join(folder.path, "other")];
  mkdirSync(other);
  await runJson(other, ["--data-dir", one, ...init]);
  for (const args of [
    ["--data-dir", one, "teams", "list"],
    ["teams", "--data-dir", one, "list"],
    ["teams", "list", "--data-dir", one],
  ]) {
    expect(await runJson<unknown[]>(other, args)).toHaveLength(1);
  }
  expect(readdirSync(other)).toEqual([]);
});

// On PostgreSQL the database tells a server of work, not a file.
testOnSqlite("a command succeeds even if it cannot signal the server about new deliveries", async () => {
  using folder = temporaryFolder();
  await runJson(folder.path, init);
  const url = ["--url", "https://example.com/hook", "--event", "channel.member_added"];
  await runJson(folder.path, ["webhooks", "create", "--name", "all", ...url]);
  rmSync(join(folder.path, "queue.signal"));
  mkdirSync(join(folder.path, "queue.signal"));
  const bot = ["bots", "create", "--name", "ci", "--channel", "general"];
  const { status, stderr } = await run(folder.path, bot);
  expect(status).toBe(0);
  expect(stderr).toMatch(/^Next: .*\nThe server does not know of it yet\. .*queue\.signal/);
});
