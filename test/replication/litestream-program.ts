import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const folder = join(import.meta.dir, "litestream");
const program = "github.com/benbjohnson/litestream/cmd/litestream";

/**
 * The path of Litestream, in the version of `litestream/go.mod`. It is built once for all checkouts, which takes minutes
 * of processor time; whoever comes meanwhile waits for that. Undefined on a machine without Go.
 * @throws when it cannot be built, with what Go said.
 */
export async function litestreamProgram(): Promise<string | undefined> {
  if (Bun.which("go") === null) return undefined;
  const lock = await Bun.file(join(folder, "go.sum")).text();
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "parley-tests");
  mkdirSync(cache, { recursive: true });
  const built = join(cache, `litestream-${Bun.hash(lock).toString(36)}`);
  // One compiler at a time and with low priority: it runs beside the gates and other tests.
  const build = `test -x "$0" || { nice go build -p 1 -trimpath -o "$0.new" ${program} && mv "$0.new" "$0"; }`;
  const child = Bun.spawn(["flock", `${built}.lock`, "sh", "-c", build, built], {
    cwd: folder,
    env: { ...process.env, CGO_ENABLED: "0" },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const [said, status] = await Promise.all([child.stderr.text(), child.exited]);
  if (status !== 0) throw new Error(`Litestream cannot be built: ${said}`);
  return built;
}
