import { expect, test } from "bun:test";
import { run, runJson } from "../support/cli.ts";
import { parley } from "../support/server.ts";

/** The packages that the binary says itself it was bundled from: the bundler writes each file's path above its code. */
async function bundledPackages(): Promise<string[]> {
  const binary = Buffer.from(await Bun.file(parley).arrayBuffer()).toString("latin1");
  const paths = binary.matchAll(/^\s*\/\/ (?:\S+\/)?node_modules\/((?:@[\w.-]+\/)?[\w.-]+)\//gm);
  return [...new Set([...paths].flatMap(([, name]) => name ?? []))];
}

test("licenses names every package that the binary was bundled from, and Bun with its libraries, with their texts", async () => {
  const { status, stdout, stderr } = await run("/nonexistent", ["licenses"]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const bundled = await bundledPackages();
  expect(bundled).toContain("elysia");
  expect(bundled.length).toBeGreaterThan(20);
  const titles = [...stdout.matchAll(/^(\S+) \d+\.\d+\.\d+ \(.+\)\n=+\n\n\s*\S/gm)].map(([, name]) => name);
  // A package that the bundler only copied has no code with a path above it.
  expect(titles).toEqual(expect.arrayContaining([...bundled, "swagger-ui-dist"]));
  for (const name of ["JavaScriptCore", "SQLite", "BoringSSL"]) expect(stdout).toContain(name);
  for (const text of [
    "GNU LESSER GENERAL PUBLIC LICENSE",
    "Apache License",
    "Permission is hereby granted",
  ]) {
    expect(stdout).toContain(text);
  }
});

test("licenses in JSON are one document with the same text", async () => {
  const { stdout } = await run("/nonexistent", ["licenses"]);
  expect(await runJson<unknown>("/nonexistent", ["licenses"])).toEqual({ notices: stdout });
});
