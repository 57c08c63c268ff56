import type { Database as SqliteFile } from "bun:sqlite";

/**
 * The version of everything that may be cached, as one connection sees it: triggers change it with every change of what
 * seldom changes (`migrations/0004_workspace_stamp.sql`). Read once, until `forget`.
 */
export type CacheVersion = { now: () => string; forget: () => void };

/** The version for a connection that writes, which is told when to forget it. */
export function cacheVersionOf(file: SqliteFile): CacheVersion {
  const query = file.query<{ stamp: string }, []>("SELECT stamp FROM workspace_stamp WHERE id = 1");
  let known: string | undefined;
  return {
    now: () => (known ??= query.get()?.stamp ?? ""),
    forget: () => void (known = undefined),
  };
}

/**
 * The version for a connection that reads, read once in each turn of the event loop. Whatever arrives is handled in a
 * later turn than the one in which it was sent, so a request always finds what was committed before it.
 */
export function cacheVersionOncePerTurn(file: SqliteFile): CacheVersion {
  const { now, forget } = cacheVersionOf(file);
  let isForgotten = true;
  const endOfTurn = () => {
    isForgotten = true;
    forget();
  };
  return {
    now() {
      if (isForgotten) setImmediate(endOfTurn);
      isForgotten = false;
      return now();
    },
    forget,
  };
}
