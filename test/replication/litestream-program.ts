import { join } from "node:path";
import { cachedProgram } from "../support/cached-program.ts";

const folder = join(import.meta.dir, "litestream");
const program = "github.com/benbjohnson/litestream/cmd/litestream";

/**
 * The path of Litestream, in the version of `litestream/go.mod`. It is built once for all checkouts, which takes minutes
 * of processor time. Undefined on a machine without Go.
 * @throws when it cannot be built, with what Go said.
 */
export async function litestreamProgram(): Promise<string | undefined> {
  if (Bun.which("go") === null) return undefined;
  const lock = await Bun.file(join(folder, "go.sum")).text();
  // One compiler at a time: it runs beside the gates and other tests.
  return await cachedProgram("litestream", {
    folder,
    lock,
    make: `go build -p 1 -trimpath -o "$0.new" ${program}`,
  });
}
