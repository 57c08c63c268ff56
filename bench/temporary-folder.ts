import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes a new folder, which is removed at the end of the run. */
export function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "parley-bench-"));
  process.once("exit", () => rmSync(path, { recursive: true, force: true }));
  return path;
}
