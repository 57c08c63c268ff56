import type { Database as SqliteFile } from "bun:sqlite";

/**
 * The version of all cacheable data, as one connection sees it. Triggers change it whenever rarely changing data
 * changes (`migrations/0004_workspace_stamp.sql`). `now` reads it once and reuses it until `forget`.
 */
export type CacheVersion = {
  now: () => string;
  forget: () => void;
  /** What connections have in common that share what they remember of a version; else each remembers for itself. */
  remembered?: object;
};

/** The version for the writing connection, whose owner calls `forget` whenever it may have changed. */
export function cacheVersionOf(file: SqliteFile): CacheVersion {
  const query = file.query<{ stamp: string }, []>("SELECT stamp FROM workspace_stamp WHERE id = 1");
  let current: string | undefined;
  return {
    now: () => (current ??= query.get()?.stamp ?? ""),
    forget: () => void (current = undefined),
  };
}

/**
 * The version for a reading connection, read once per turn of the event loop. A request is handled in a later turn
 * than the one in which it was sent, so it always sees what was committed before it.
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
