import type { Database } from "../../src/database/database.ts";

/** How often commands that follow what happens look for it, in milliseconds. */
const lookEveryMs = 250;

/**
 * Resolves when the data may have changed since the version `seen`, to the version of now, or once `isOver`. Begin with
 * the version 0.
 */
export async function changed(database: Database, seen: number, isOver: () => boolean): Promise<number> {
  while (!isOver()) {
    const version = database.file?.dataVersion();
    if (version !== undefined && version !== seen) return version;
    await Bun.sleep(lookEveryMs);
    // Only a file says whether anything has changed.
    if (version === undefined) return seen;
  }
  return seen;
}
