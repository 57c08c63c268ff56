import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEndOfRun } from "./end-of-run.ts";
import { dropDatabasesIn } from "./engine.ts";

/**
 * A folder for one test: `using folder = temporaryFolder()` removes it, with all that is in it and the databases of the data
 * folders in it, at the end of the block.
 */
export type TemporaryFolder = Disposable & { readonly path: string };

/** Makes a folder that nothing else uses. What is left when the test run ends is removed then. */
export function temporaryFolder(): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), "parley-test-"));
  const remove = (): void => rmSync(path, { recursive: true, force: true });
  const forget = atEndOfRun(remove);
  return {
    path,
    [Symbol.dispose]: () => {
      remove();
      dropDatabasesIn(path);
      forget();
    },
  };
}
