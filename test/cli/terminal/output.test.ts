import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { createChannel } from "../../../src/channels/channels.ts";
import { subjectOf } from "../../../src/users/users.ts";
import { run, runJson } from "../../support/cli.ts";
import { parley } from "../../support/server.ts";
import { type TemporaryFolder, temporaryFolder } from "../../support/temporary-folder.ts";
import { openWorkspace, type Workspace } from "../../support/workspace.ts";

let folder: TemporaryFolder;
let workspace: Workspace;
let acme: Awaited<ReturnType<Workspace["team"]>>;
beforeAll(async () => {
  folder = temporaryFolder();
  workspace = await openWorkspace(folder.path);
  acme = await workspace.team("Acme");
});
afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test("the OpenAPI document is printed or written, and needs no workspace", async () => {
  const { status, stdout } = await run("/nonexistent", ["openapi"]);
  expect(status).toBe(0);
  const document = JSON.parse(stdout) as { openapi: string };
  expect(document.openapi).toStartWith("3.1");
  const out = join(folder.path, "openapi.json");
  expect(await runJson<unknown>("/nonexistent", ["openapi", "--out", out])).toEqual({ out });
  expect(await Bun.file(out).json()).toEqual(document);
  expect(await runJson<unknown>("/nonexistent", ["openapi"])).toEqual(document);
});

test("people get aligned tables, relative times and the next command, which --quiet leaves out", async () => {
  const topic = "Who?\n\u001b[31mNobody\u202E";
  await workspace.database.write((tx) =>
    createChannel(tx, subjectOf(acme.owner), { name: "alarm", visibility: "public", topic }),
  );
  const { stdout, stderr } = await run(folder.path, ["channels", "list"]);
  const lines = stdout.trimEnd().split("\n");
  const column = (lines[0] ?? "").indexOf("ID");
  for (const line of lines.slice(1)) expect(line.slice(column)).toMatch(/^[0-9a-f-]{36}$/);
  expect(stdout).toContain("Who?\\n\\u{1b}[31mNobody\\u{202e}");
  expect(stdout).not.toContain("\u001b");
  expect(stderr).toMatch(/^Next: parley channels /);
  expect((await run(folder.path, ["channels", "show", "alarm"])).stdout).toContain("created  just now");
  expect(await run(folder.path, ["channels", "list", "--quiet"])).toEqual({ status: 0, stdout, stderr: "" });
});

test("JSON contains nothing that a terminal would obey or reverse, and parses to the same value", async () => {
  const hostile = "\u007F\u0085\u009B31m\u061C\u200E\u200F\u2028\u2029\u202A\u202E\u2066\u2069 ü 😀";
  const unfit = /[[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]--\n]/v;
  const { id } = await workspace.database.write((tx) =>
    createChannel(tx, subjectOf(acme.owner), { name: "dark", visibility: "public", topic: hostile }),
  );
  const shown = await run(folder.path, ["channels", "show", id, "--json"]);
  expect(shown.stdout).not.toMatch(unfit);
  expect(shown.stdout).toContain("\\u009b31m");
  expect(shown.stdout).toContain("ü 😀");
  expect((JSON.parse(shown.stdout) as { data: { topic: string } }).data.topic).toBe(hostile);

  const refused = await run(folder.path, ["channels", "show", hostile, "--json"]);
  expect(refused.status).toBe(3);
  expect(refused.stdout).not.toMatch(unfit);
  expect((JSON.parse(refused.stdout) as { message: string }).message).toContain(hostile);
});

test("an empty list says so on standard error, and is an empty array in JSON", async () => {
  const quiet = await workspace.team("Quiet");
  const { stdout, stderr } = await run(folder.path, ["bots", "list", "--team", "quiet"]);
  expect(stdout).toBe("");
  expect(stderr).toContain("There is no bot yet.\nNext: parley bots create");
  expect(await runJson<unknown>(folder.path, ["bots", "list", "--team", quiet.id])).toEqual([]);
});

test("a reader that closes the pipe is no failure, a full disk is one", async () => {
  const shell = async (line: string) => {
    const child = Bun.spawn(["bash", "-o", "pipefail", "-c", line, parley], {
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, status] = await Promise.all([
      child.stdout.text(),
      child.stderr.text(),
      child.exited,
    ]);
    return { stdout, stderr, status };
  };
  expect(await shell('"$0" openapi | head -n 1')).toEqual({ stdout: "{\n", stderr: "", status: 0 });
  const full = await shell('"$0" openapi > /dev/full');
  expect(full.status).toBe(1);
  expect(full.stderr).toMatch(/^error: Cannot write the result: ENOSPC.*\n$/);
});
