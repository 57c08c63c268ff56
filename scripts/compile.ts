import { realpathSync } from "node:fs";
import { join } from "node:path";

const project = realpathSync(join(import.meta.dir, ".."));

/**
 * The short hash of the commit that is checked out, with `-dirty` after it if tracked files differ from it. Empty where
 * the source is not the top of a clone, so that a copy inside somebody else's repository is not given their commit.
 */
export function currentCommit(): string {
  if (git("rev-parse", "--show-toplevel") !== project) return "";
  return git("describe", "--always", "--dirty", "--abbrev=7", "--exclude=*");
}

/**
 * Compiles the program to `outfile`, for this machine unless `target` names another one with the Bun for it. Throws
 * with the compiler's own output if that fails.
 */
export function compile(outfile: string, target?: { name: string; bun: string }): void {
  const command = [process.execPath, "build", "--compile", "--bytecode", "--format=esm"];
  // A binary must read nothing from the folder it is started in.
  command.push("--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig");
  command.push("--define", `PARLEY_COMMIT=${JSON.stringify(currentCommit())}`);
  if (target !== undefined)
    command.push(`--target=${target.name}`, `--compile-executable-path=${target.bun}`);
  command.push("--outfile", outfile, "cli/main.ts");
  const { success, stderr, stdout } = Bun.spawnSync(command, { cwd: project });
  if (!success) throw new Error(`${command.join(" ")}\n${stdout.toString()}${stderr.toString()}`);
}

/** The trimmed output of git, empty if it fails or there is no git. */
function git(...args: string[]): string {
  try {
    const { success, stdout } = Bun.spawnSync(["git", ...args], { cwd: project, stderr: "ignore" });
    return success ? stdout.toString().trim() : "";
  } catch {
    return "";
  }
}
