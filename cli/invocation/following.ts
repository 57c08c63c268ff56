import type { Database } from "../../src/database/database.ts";
import { changed } from "./changes.ts";
import { stopSignal } from "./stop-signal.ts";

/**
 * Calls `begin`, and then `step` at once and whenever the data may have changed, until a stop signal or until the reader
 * of standard output closes it. Both may come as soon as `begin` has printed something.
 */
export async function follow(
  database: Database,
  begin: () => void,
  step: () => Promise<void>,
): Promise<void> {
  let isOver = false;
  const end = () => (isOver = true);
  void stopSignal().then(end);
  // A reader that has seen enough, such as `head`, closes the pipe.
  process.stdout.once("error", end);
  begin();
  for (let seen = 0; !isOver; seen = await changed(database, seen, () => isOver)) await step();
}
