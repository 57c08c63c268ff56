import { Validation, Spec } from "@cyclonedx/cyclonedx-library";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../package.json" with { type: "json" };
import { currentCommit } from "../scripts/compile.ts";
import { executableFormat } from "../scripts/release/executable-format.ts";
import { makeRelease } from "../scripts/release/release.ts";
import { targets } from "../scripts/release/targets.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const folder = temporaryFolder();
const file = (name: string) => join(folder.path, name);
// Neither system is that of the machine that makes the release, and the two have nothing in common.
const made = targets.filter(({ bun }) => bun === "darwin-aarch64" || bun === "windows-x64");
const bill = `parley-${version}.cdx.json`;

beforeAll(() => makeRelease(folder.path, made, () => {}), 180_000);
afterAll(() => folder[Symbol.dispose]());

test("a release has the binaries, what installs them, a bill of materials and sums that sha256sum accepts", () => {
  const expected = [...made.map((one) => one.file), bill];
  expected.push("Containerfile", "SHA256SUMS", "install.sh", "parley.service");
  expect(readdirSync(folder.path).toSorted()).toEqual(expected.toSorted());
  const check = Bun.spawnSync(["sha256sum", "--check", "--strict", "SHA256SUMS"], { cwd: folder.path });
  expect(check.stdout.toString().trim().split("\n").toSorted()).toEqual(
    expected
      .filter((name) => name !== "SHA256SUMS")
      .map((name) => `${name}: OK`)
      .toSorted(),
  );
});

test("each binary is for the system in its name and carries the commit that it was made of", () => {
  expect(made.map((one) => [one.file, executableFormat(file(one.file))])).toEqual([
    [`parley-${version}-darwin-arm64`, "Mach-O arm64"],
    [`parley-${version}-windows-x64.exe`, "PE x64"],
  ]);
  const commit = currentCommit();
  for (const one of made) expect(readFileSync(file(one.file)).includes(`"${commit}"`)).toBe(true);
});

test("the format of an executable is told by its header, and other files have none", () => {
  expect(executableFormat(join(import.meta.dir, "../dist/parley"))).toMatch(/^(ELF|Mach-O) (x64|arm64)$/);
  writeFileSync(file("text"), "MZ, but nothing that runs");
  expect(executableFormat(file("text"))).toBeUndefined();
});

test("the bill of materials fulfils CycloneDX's schema and names Bun and every package of the notices", async () => {
  const text = readFileSync(file(bill), "utf8");
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  expect(await validator.validate(text)).toBeNull();

  const { components } = JSON.parse(text) as { components: { name: string; version: string }[] };
  expect(components[0]).toMatchObject({ name: "bun", version: Bun.version });
  const notices = readFileSync(join(import.meta.dir, "../licenses/THIRD_PARTY_NOTICES.txt"), "utf8");
  const named = [...notices.matchAll(/^(\S+ \d+\.\d+\.\d+\S*) \([^)]+\)\n=+$/gm)].map(([, name]) => name);
  expect(components.slice(1).map((one) => `${one.name} ${one.version}`)).toEqual(named as string[]);
});

test("a release is not mixed with what is already in the folder", async () => {
  const refusal = await makeRelease(folder.path, made, () => {}).catch(String);
  expect(refusal).toContain("is not empty");
});
