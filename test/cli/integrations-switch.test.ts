import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../support/cli.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

const off = { INTEGRATIONS_ENABLED: "false" };

test("with integrations disabled, their commands are hidden and fail, and the others work", async () => {
  using folder = temporaryFolder();
  {
    await using workspace = await openWorkspace(folder.path);
    await workspace.team("Acme");
  }
  const shown = (await run(folder.path, ["--help"])).stdout;
  const hidden = (await run(folder.path, ["--help"], off)).stdout;
  for (const noun of ["tokens", "bots", "incoming-webhooks", "webhooks", "deliveries", "quickstart"]) {
    expect(shown).toMatch(new RegExp(`^  ${noun} `, "m"));
    expect(hidden).not.toMatch(new RegExp(`^  ${noun} `, "m"));
  }
  for (const args of [
    ["tokens", "list"],
    ["bots", "list"],
    ["incoming-webhooks", "list"],
    ["webhooks", "ping", "CI"],
    ["deliveries", "list"],
    ["quickstart"],
  ]) {
    const { status, stdout, stderr } = await run(folder.path, args, off);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain("INTEGRATIONS_ENABLED is false");
  }
  expect((await run(folder.path, ["users", "list"], off)).status).toBe(0);
});

test("the setting in parley.toml applies to the command line too", async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, "parley.toml"), "integrations_enabled = false\n");
  const { status, stdout } = await run("/nonexistent", [
    "tokens",
    "list",
    "--json",
    "--data-dir",
    folder.path,
  ]);
  expect(status).toBe(1);
  expect(stdout).toContain("INTEGRATIONS_ENABLED is false");
});

test("help works even when a setting does not parse", async () => {
  const { status, stdout } = await run("/nonexistent", ["--help"], { PARLEY_PORT: "http" });
  expect(status).toBe(0);
  expect(stdout).toContain("tokens");
});
