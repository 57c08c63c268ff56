import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run, runJson, runRefused } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { contentOf } from "../support/data-folder.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { parley, startServer } from "../support/server.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

let folder: TemporaryFolder;
let dataDir: string;
const inFolder = (name: string) => join(folder.path, name);

beforeAll(async () => {
  folder = temporaryFolder();
  dataDir = inFolder("data");
  await runJson(dataDir, ["init", "--team", "Acme", "--owner", "Ada"]);
  await using workspace = await openWorkspace(dataDir);
  const { owner, general } = await workspace.team("Umbrella");
  for (const body of ["one", "two", "three"]) await workspace.message(general, owner, body);
});
afterAll(() => folder[Symbol.dispose]());

test("a backup is verified by serving a copy and reading it, behind any proxy, and nothing is left", async () => {
  await using receiver = startReceiver();
  const file = inFolder("good.tar");
  await runJson(dataDir, ["backup", file, "--without-key"]);
  using copies = temporaryFolder();
  const environment = { TMPDIR: copies.path, HTTP_PROXY: receiver.url, http_proxy: receiver.url };
  const { status, stdout, stderr } = await run(dataDir, ["backup", "--verify", file, "--json"], environment);
  expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: "" });
  const { data } = JSON.parse(stdout) as { data: Record<string, unknown> };
  expect(data).toMatchObject({ teams: 2, messages: 3, key: "left_out" });
  expect(readdirSync(copies.path)).toEqual([]);
  expect(receiver.requests).toEqual([]);
});

test("a damaged backup is not verified", async () => {
  const file = inFolder("bad.tar");
  await runJson(dataDir, ["backup", file, "--without-key"]);
  const bytes = readFileSync(file);
  bytes[100_000] = (bytes[100_000] ?? 0) ^ 1;
  writeFileSync(file, bytes);
  const refused = await runRefused(dataDir, ["backup", "--verify", file]);
  expect(refused).toMatchObject({ status: 1, message: expect.stringContaining("is damaged") });
});

test("verifying delivers nothing of what waits in the copy", async () => {
  await using receiver = startReceiver();
  await using server = await startServer({ environment: { WEBHOOKS_BLOCK_PRIVATE_URLS: "false" } });
  await using workspace = await openWorkspace(server.dataDir);
  const { owner, general } = await workspace.team("Acme");
  await server.stop();
  const args = ["--name", "CI", "--url", receiver.url, "--event", "message.created"];
  const made = await run(server.dataDir, ["webhooks", "create", ...args, "--json"], {
    WEBHOOKS_BLOCK_PRIVATE_URLS: "false",
  });
  expect(made.status, made.stdout).toBe(0);
  await workspace.message(general, owner, "waits");
  const file = inFolder("waiting.tar");
  await runJson(server.dataDir, ["backup", file, "--without-key"]);
  expect(await runJson(server.dataDir, ["backup", "--verify", file])).toMatchObject({ messages: 1 });
  expect(receiver.requests).toEqual([]);
  // What waits was not lost by that either: it is delivered by the workspace itself.
  await server.start();
  await until("the message is delivered", () => receiver.requests.length > 0, { timeout_ms: 20_000 });
}, 60_000);

describe("the rehearsal of an upgrade", () => {
  test("tells what the new version makes of the data, and leaves the workspace alone", async () => {
    const files = () => {
      const { "parley.db": database, "secret.key": key } = contentOf(dataDir);
      return { database, key };
    };
    const before = files();
    using copies = temporaryFolder();
    const { status, stdout } = await run(dataDir, ["upgrade", "--rehearse", parley, "--json"], {
      TMPDIR: copies.path,
    });
    expect(status, stdout).toBe(0);
    const { data } = JSON.parse(stdout) as { data: Record<string, unknown> };
    expect(data).toMatchObject({ migrations: [], messages: 3, teams: 2 });
    expect(data.from).toBe(data.to);
    expect(files()).toEqual(before);
    expect(readdirSync(copies.path)).toEqual([]);
  });

  test("works beside a running server", async () => {
    await using server = await startServer({ dataDir });
    const { stdout } = await run(dataDir, ["upgrade", "--rehearse", parley]);
    expect(stdout).toContain("the version that you have");
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  test("wants a program that is a parley", async () => {
    writeFileSync(inFolder("plain"), "text");
    writeFileSync(inFolder("liar"), "#!/bin/sh\necho something else\n");
    chmodSync(inFolder("liar"), 0o755);
    for (const [name, reason] of [
      ["plain", "cannot be run"],
      ["missing", "cannot be run"],
      ["liar", "is not a parley"],
    ] as const) {
      const refused = await runRefused(dataDir, ["upgrade", "--rehearse", inFolder(name)]);
      expect(refused).toMatchObject({ status: 1, message: expect.stringContaining(reason) });
    }
  });

  test("says what a new version says that cannot use the data", async () => {
    const old = inFolder("other-version");
    const said = '{"message":"The data was last used by a newer parley."}';
    writeFileSync(old, `#!/bin/sh\n[ "$1" = --version ] && echo 0.0.9 && exit\necho '${said}'\nexit 5\n`);
    chmodSync(old, 0o755);
    const refused = await runRefused(dataDir, ["upgrade", "--rehearse", old]);
    expect(refused).toMatchObject({
      status: 1,
      message: expect.stringContaining("last used by a newer parley"),
    });
  });
});
