import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { run, runJson, runRefused } from "../support/cli.ts";
import { parley, startServer } from "../support/server.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";

const init = ["init", "--team", "Acme", "--owner", "Ada"];
const serve = ["serve", "--port", "0"];
/** A command that opens the key. */
const subscribe = ["webhooks", "create", "--name", "N", "--event", "message.created"];
const toNobody = [...subscribe, "--url", "https://1.1.1.1/"];
/** A login that the tests are not run as. */
const stranger = 54_321;
/** One more, which shares a group with the stranger. */
const admin = 54_322;

/** Only root can give a file to somebody else: with any other login there is nothing to be tested. */
const testAsRoot = process.getuid?.() === 0 ? test : () => {};

/** Runs the program as that login, in the group of the stranger, as a copy in the folder, which it has to be able to enter. */
function as(login: number, folder: string): string[] {
  // Not every folder that a clone can lie in can be entered by others.
  const copy = join(folder, "parley");
  const become = `setpriv --reuid=${login} --regid=${stranger} --clear-groups`;
  return ["/bin/sh", "-c", `cp "$0" '${copy}' && exec ${become} '${copy}' "$@"`];
}

/** A workspace that was made on the command line, in a folder within the one that is removed. */
async function workspaceFolder(): Promise<
  TemporaryFolder & { data: string; file: (name: string) => string }
> {
  const folder = temporaryFolder();
  const data = join(folder.path, "data");
  await runJson(data, init);
  return Object.assign(folder, { data, file: (name: string) => join(data, name) });
}

describe("a secret.key that others could have written", () => {
  test.each([0o666, 0o620, 0o602])("by its mode %o is refused with the chmod that fixes it", async (mode) => {
    using folder = await workspaceFolder();
    const key = folder.file("secret.key");
    chmodSync(key, mode);
    for (const command of [serve, toNobody]) {
      const { status, message } = await runRefused(folder.data, command);
      expect(status).toBe(1);
      expect(message).toContain("PARLEY_SECRET_KEY");
      expect(message).toContain(`${key} is writable by others (mode 0${mode.toString(8)})`);
      expect(message).toEndWith(`chmod go-w ${key}`);
    }
    // What it says is what helps.
    expect(Bun.spawnSync(["chmod", "go-w", key]).exitCode).toBe(0);
    await using server = await startServer({ dataDir: folder.data });
    expect(await server.stop()).toBe(0);
  });

  testAsRoot("because it is theirs is refused with the chown that mends it", async () => {
    using folder = await workspaceFolder();
    const key = folder.file("secret.key");
    chownSync(key, stranger, stranger);
    for (const command of [serve, toNobody]) {
      const { status, message } = await runRefused(folder.data, command);
      expect(status).toBe(1);
      expect(message).toContain("PARLEY_SECRET_KEY");
      expect(message).toContain(`${key} belongs to ${stranger}`);
      expect(message).toEndWith(`chown root ${key}`);
    }
    chmodSync(key, 0o666);
    expect((await runRefused(folder.data, serve)).message).toEndWith(
      `chown root ${key} && chmod go-w ${key}`,
    );
    expect(Bun.spawnSync(["sh", "-c", `chown root ${key} && chmod go-w ${key}`]).exitCode).toBe(0);
    await using server = await startServer({ dataDir: folder.data });
    expect(await server.stop()).toBe(0);
  });

  testAsRoot("does not keep root from working for the user who owns the folder and its key", async () => {
    using folder = await workspaceFolder();
    for (const path of [folder.data, folder.file("secret.key")]) chownSync(path, stranger, stranger);
    expect(await run(folder.data, toNobody)).toMatchObject({ status: 0 });
  });

  testAsRoot("is taken from the owner of the folder by the others of its group", async () => {
    using folder = await workspaceFolder();
    for (const name of readdirSync(folder.data)) {
      chownSync(folder.file(name), stranger, stranger);
      chmodSync(folder.file(name), name === "secret.key" ? 0o640 : 0o660);
    }
    chownSync(folder.data, stranger, stranger);
    chmodSync(folder.data, 0o2770);
    chmodSync(folder.path, 0o755);
    const command = [...as(admin, folder.path), parley, "--data-dir", folder.data, ...toNobody];
    const accepted = Bun.spawnSync(command);
    expect(accepted.exitCode, accepted.stderr.toString()).toBe(0);

    // One that is neither the owner's nor root's is given to the owner, whose server has to read it.
    chownSync(folder.file("secret.key"), admin + 1, stranger);
    const { exitCode, stderr } = Bun.spawnSync(command);
    expect(exitCode).toBe(1);
    expect(stderr.toString()).toContain(`belongs to ${admin + 1}`);
    expect(stderr.toString().trimEnd()).toEndWith(`chown ${stranger} ${folder.file("secret.key")}`);
  });

  test("does not matter to a server whose key is in its settings", async () => {
    using folder = await workspaceFolder();
    chmodSync(folder.file("secret.key"), 0o666);
    const environment = { PARLEY_SECRET_KEY: readFileSync(folder.file("secret.key"), "utf8").trim() };
    await using server = await startServer({ dataDir: folder.data, environment });
    expect(await server.stop()).toBe(0);
  });
});

describe("each start warns, with the command that fixes it,", () => {
  test.each([
    ["of a data folder that everybody may write", "", 0o777, "chmod o-w"],
    ["of a sticky one, too", "", 0o1777, "chmod o-w"],
    ["of a key that everybody may read", "/secret.key", 0o644, "chmod o="],
    ["of a key that everybody may run", "/secret.key", 0o601, "chmod o="],
  ])("%s", async (_, name, mode, remedy) => {
    using folder = await workspaceFolder();
    const path = `${folder.data}${name}`;
    chmodSync(path, mode);
    for (const _start of ["first", "second"]) {
      await using server = await startServer({ dataDir: folder.data });
      const line = await server.logLine(({ msg }) => msg === "data_folder.exposed");
      expect(line).toMatchObject({
        level: 40,
        path,
        reason: expect.stringMatching(new RegExp(`${remedy} ${path}$`)),
      });
    }
    expect(Bun.spawnSync([...remedy.split(" "), path]).exitCode).toBe(0);
    await using server = await startServer({ dataDir: folder.data });
    await server.logLine(({ msg }) => msg === "server.started");
    expect(server.logLines().join()).not.toContain("data_folder.exposed");
  });
});

test("a key that the group may read, as it may the database, is accepted without a warning", async () => {
  using folder = await workspaceFolder();
  chmodSync(folder.data, 0o770);
  for (const name of ["parley.db", "queue.signal"]) chmodSync(folder.file(name), 0o660);
  chmodSync(folder.file("secret.key"), 0o640);
  await using server = await startServer({ dataDir: folder.data });
  await server.logLine(({ msg }) => msg === "server.started");
  expect(server.logLines().join()).not.toContain("data_folder.exposed");
});

testAsRoot(
  "root's key that the server may read through its group only is accepted without a warning",
  async () => {
    using folder = await workspaceFolder();
    for (const name of ["", "/parley.db", "/queue.signal"]) chownSync(folder.data + name, stranger, stranger);
    chownSync(folder.file("secret.key"), 0, stranger);
    chmodSync(folder.file("secret.key"), 0o640);
    chmodSync(folder.path, 0o755);
    const within = as(stranger, folder.path);
    {
      await using server = await startServer({ dataDir: folder.data, within });
      await server.logLine(({ msg }) => msg === "server.started");
      expect(server.logLines().join()).not.toContain("data_folder.exposed");
    }
    chmodSync(folder.file("secret.key"), 0o644);
    await using server = await startServer({ dataDir: folder.data, within });
    const { reason } = await server.logLine(({ msg }) => msg === "data_folder.exposed");
    expect(reason).toEndWith(`chmod o= ${folder.file("secret.key")}`);
  },
);

describe("a symbolic link in place of a file of the data folder is not followed:", () => {
  const ours = ["parley.db", "parley.db-wal", "parley.db-shm", "parley.db-journal", "server.lock"];

  test.each([...ours, "queue.signal", "secret.key"])("%s", async (name) => {
    using folder = await workspaceFolder();
    const victim = join(folder.path, "victim");
    // Its content is the right one, so that it is for being a link that it is refused.
    if (existsSync(folder.file(name))) renameSync(folder.file(name), victim);
    else writeFileSync(victim, "");
    if (name === "queue.signal") writeFileSync(victim, "precious");
    const [bytes, { mtimeMs }] = [readFileSync(victim), statSync(victim)];
    symlinkSync(victim, folder.file(name));

    const { status, message } = await runRefused(folder.data, serve);
    expect(status).toBe(1);
    expect(message).toContain(`${folder.file(name)} is a symbolic link`);
    expect(message).toContain("--data-dir DIR");
    expect(message.includes("PARLEY_SECRET_KEY")).toBe(name === "secret.key");
    if (name === "secret.key") {
      const environment = { PARLEY_SECRET_KEY: bytes.toString().trim() };
      expect(await run(folder.data, toNobody, environment)).toMatchObject({ status: 0 });
    }
    if (name.startsWith("parley.db")) {
      expect((await runRefused(folder.data, ["users", "list"])).message).toBe(message);
    }
    expect(readFileSync(victim).equals(bytes)).toBe(true);
    expect(statSync(victim).mtimeMs).toBe(mtimeMs);
    expect(lstatSync(folder.file(name)).isSymbolicLink()).toBe(true);
  });

  test.each(["parley.db", "queue.signal"])(
    "%s that leads nowhere yet, where a workspace is to be made",
    async (name) => {
      using folder = temporaryFolder();
      const data = join(folder.path, "data");
      mkdirSync(data);
      const victim = join(folder.path, "victim");
      symlinkSync(victim, join(data, name));
      for (const command of [init, ["quickstart", "--yes"]]) {
        const { status, message } = await runRefused(data, command);
        expect(status).toBe(1);
        expect(message).toContain(`${join(data, name)} is a symbolic link`);
      }
      expect(existsSync(victim)).toBe(false);
    },
  );

  test("queue.signal, by a command that queues a delivery: it succeeds, and says that the server was not notified", async () => {
    using folder = await workspaceFolder();
    const subscribe = ["webhooks", "create", "--name", "N", "--event", "channel.member_added"];
    await runJson(folder.data, [...subscribe, "--url", "https://1.1.1.1/"]);
    await runJson(folder.data, ["bots", "create", "--name", "ci"]);
    const victim = join(folder.path, "victim");
    writeFileSync(victim, "precious");
    renameSync(folder.file("queue.signal"), folder.file("aside"));
    symlinkSync(victim, folder.file("queue.signal"));
    const { status, stderr } = await run(folder.data, ["channels", "add-member", "general", "ci"]);
    expect(status).toBe(0);
    expect(stderr).toContain("The server does not know of it yet.");
    expect(stderr).toContain("queue.signal is a symbolic link");
    expect(readFileSync(victim, "utf8")).toBe("precious");
  });

  test("but the folder itself may be a symbolic link", async () => {
    using folder = await workspaceFolder();
    const link = join(folder.path, "link");
    symlinkSync(folder.data, link);
    await using server = await startServer({ dataDir: link });
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(await run(link, ["users", "list"])).toMatchObject({ status: 0 });
  });
});
