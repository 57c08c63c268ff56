import { chmodSync, copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { version } from "../../package.json" with { type: "json" };
import { compile, currentCommit } from "../compile.ts";
import { executableFormat } from "./executable-format.ts";
import { billOfMaterials } from "./sbom.ts";
import type { Target } from "./targets.ts";

const project = join(import.meta.dir, "../..");

/** What a release carries besides the binaries, so that nobody needs a clone to install it. */
const carried = ["install.sh", "packaging/parley.service", "packaging/Containerfile"];

/** The file with the SHA-256 of all the others. */
const sumsFile = "SHA256SUMS";

/**
 * Makes a release in a folder that is empty or missing: the targets' binaries, what installs them, the bill of
 * materials, and the sums. `onStep` hears the name of each file before it is made. Throws if the folder has something
 * in it, a runtime cannot be fetched, or a binary is not what its name says.
 */
export async function makeRelease(
  folder: string,
  targets: readonly Target[],
  onStep: (file: string) => void,
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0) {
    throw new Error(`${folder} is not empty. Remove it first, or choose another folder with --out DIR.`);
  }
  for (const { file, bun, format } of targets) {
    onStep(file);
    const path = join(folder, file);
    compile(path, { name: `bun-${bun.replace("aarch64", "arm64")}`, bun: runtime(bun) });
    if (executableFormat(path) !== format) {
      throw new Error(`${path} is ${executableFormat(path) ?? "no executable"}, but has to be ${format}.`);
    }
    chmodSync(path, 0o755);
  }
  for (const file of carried) copyFileSync(join(project, file), join(folder, basename(file)));
  const bill = await billOfMaterials(currentCommit());
  await Bun.write(join(folder, `parley-${version}.cdx.json`), `${JSON.stringify(bill, null, 2)}\n`);
  await writeSums(folder);
}

/** Writes the SHA-256 of every file in the folder, in the form that `sha256sum --check` reads. */
export async function writeSums(folder: string): Promise<void> {
  const files = readdirSync(folder).filter((file) => file !== sumsFile);
  let sums = "";
  // One after the other, because each binary is 110 MB in memory.
  for (const file of files.toSorted()) {
    const sum = new Bun.CryptoHasher("sha256").update(await Bun.file(join(folder, file)).bytes());
    sums += `${sum.digest("hex")}  ${file}\n`;
  }
  await Bun.write(join(folder, sumsFile), sums);
}

/** The path of Bun for a target. Throws unless it is of the version that compiles, whose bytecode it has to read. */
function runtime(bun: string): string {
  const found = Bun.spawnSync([join(project, "scripts/find-bun.sh"), bun], { stderr: "inherit" });
  const path = found.stdout.toString().trim();
  if (!found.success) throw new Error(`There is no Bun for ${bun}, for the reason printed above.`);
  if (!path.includes(`/${Bun.version}/`)) {
    throw new Error(
      `This is Bun ${Bun.version}, but what a release carries is ${path}. Use the same version.`,
    );
  }
  return path;
}
