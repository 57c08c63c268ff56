import type { Database as SqliteFile } from "bun:sqlite";

/**
 * The stamp of the workspace as one connection sees it: another one after every change of what seldom changes
 * (`migrations/0004_workspace_stamp.sql`). Asked for once, until `forget`.
 */
export type Stamp = { now: () => string; forget: () => void };

/** The stamp for a connection that writes, which is told when to forget it. */
export function stampOf(file: SqliteFile): Stamp {
  const query = file.query<{ stamp: string }, []>("SELECT stamp FROM workspace_stamp WHERE id = 1");
  let known: string | undefined;
  return {
    now: () => (known ??= query.get()?.stamp ?? ""),
    forget: () => void (known = undefined),
  };
}

/**
 * The stamp for a connection that reads, asked for once in each turn of the event loop. Whatever arrives is handled in a
 * later turn than the one in which it was sent, so a request always finds what was committed before it.
 */
export function stampOncePerTurn(file: SqliteFile): Stamp {
  const { now, forget } = stampOf(file);
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
