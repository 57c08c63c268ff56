import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * The path of a file or folder that is made once for all checkouts, as another program that tests need; whoever comes
 * meanwhile waits for that. `make` is a line of shell, run in `folder`, that makes `$0.new`. It is made again when `lock`
 * differs, the text that says which versions it is made of.
 * @throws when it cannot be made, with what was said.
 */
export async function cachedProgram(
  name: string,
  { folder, lock, make }: { folder: string; lock: string; make: string },
): Promise<string> {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "parley-tests");
  mkdirSync(cache, { recursive: true });
  const made = join(cache, `${name}-${Bun.hash(lock).toString(36)}`);
  const line = `test -e "$0" || { rm -rf "$0.new" && ${make} && mv "$0.new" "$0"; }`;
  const child = Bun.spawn(["flock", `${made}.lock`, "nice", "sh", "-c", line, made], {
    cwd: folder,
    env: { ...process.env, CGO_ENABLED: "0" },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const [said, status] = await Promise.all([child.stderr.text(), child.exited]);
  if (status !== 0) throw new Error(`${name} cannot be made: ${said}`);
  return made;
}
