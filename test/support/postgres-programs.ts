import { existsSync, readdirSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";

/** The folder with PostgreSQL's programs, of the newest version that Debian's packages have installed, or of the PATH. */
function findFolderOfPrograms(): string | undefined {
  const versions = existsSync("/usr/lib/postgresql") ? readdirSync("/usr/lib/postgresql") : [];
  const installed = versions
    .sort((one, other) => Number(other) - Number(one))
    .map((version) => join("/usr/lib/postgresql", version, "bin"))
    .find((folder) => existsSync(join(folder, "postgres")));
  return installed ?? Bun.which("postgres")?.replace(/\/postgres$/, "");
}

const folderOfPrograms = findFolderOfPrograms();

/** @throws when there is no PostgreSQL on this machine. */
export function requireFolderOfPrograms(): string {
  if (folderOfPrograms === undefined)
    throw new Error("There is no PostgreSQL here. Debian's package is postgresql.");
  return folderOfPrograms;
}

/** The number of PostgreSQL's version before its first dot. */
export const postgresVersion = readVersion();

function readVersion(): number {
  if (folderOfPrograms === undefined) return 0;
  const { stdout } = Bun.spawnSync([join(folderOfPrograms, "postgres"), "--version"]);
  return Number(/ (\d+)/.exec(stdout.toString())?.[1]);
}

/** The account that PostgreSQL runs as where this is root, whom it refuses. */
export const account = userInfo().uid === 0 ? accountNamed("nobody") : undefined;

function accountNamed(name: string): { uid: number; gid: number } {
  const { stdout } = Bun.spawnSync(["id", "-u", name]);
  const { stdout: group } = Bun.spawnSync(["id", "-g", name]);
  return { uid: Number(stdout), gid: Number(group) };
}

/** The words before a command that PostgreSQL's account is to run. */
export function asAccount(): string[] {
  return account ? ["setpriv", `--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups"] : [];
}

/**
 * Runs one of PostgreSQL's programs in the folder as its account, and returns when it has ended. What the folder's file
 * `log` says belongs to the error.
 * @throws when it fails, with what it said.
 */
export async function command(folder: string, [program = "", ...words]: string[]): Promise<void> {
  const child = Bun.spawn([...asAccount(), join(requireFolderOfPrograms(), program), ...words], {
    cwd: folder,
    env: { PATH: process.env.PATH, LC_ALL: "C" },
    stdin: "ignore",
    // A file, since the server that pg_ctl starts would keep a pipe open.
    stdout: Bun.file(join(folder, "said")),
    stderr: Bun.file(join(folder, "said")),
  });
  if ((await child.exited) === 0) return;
  throw new Error(`${program} failed: ${textOf(join(folder, "said"))}\n${textOf(join(folder, "log"))}`);
}

/**
 * Runs one of PostgreSQL's programs while the whole process waits.
 * @throws when it fails, with what it said.
 */
export function runNow([program = "", ...words]: string[]): void {
  const command_ = [join(requireFolderOfPrograms(), program), ...words];
  const { success, stderr } = Bun.spawnSync(command_, { env: { LC_ALL: "C" } });
  if (!success) throw new Error(`${program} failed: ${stderr.toString()}`);
}

/** The text of the file, empty where there is none. */
export function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}
