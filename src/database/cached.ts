import { beside } from "./beside.ts";
import type { Connection } from "./database.ts";

/**
 * The maximum number of cached values per function and connection. When it is reached, all are dropped and looked up
 * again.
 */
const valuesMax = 4_096;

/** Values nested by key part, one level per part: a joined key would have to be built for each look-up. */
type Level = Map<string, unknown>;

/**
 * Caches what `read` returns until the cache version changes, no matter which process changed it; inside a write,
 * changes by that write count too. Cached values are valid for one version, so `read` may depend only on data that the
 * version covers (`migrations/0004_workspace_stamp.sql`). Values are shared: callers must not modify them. Undefined
 * is not cached.
 */
export function cached<Key extends string[], Value>(
  read: (db: Connection, ...key: Key) => Value,
): (db: Connection, ...key: Key) => Value {
  const caches = new WeakMap<object, { version: string; root: Level; count: number }>();

  return (db, ...key) => {
    const version = db.cacheVersion.now();
    const rememberer = db.cacheVersion.remembered ?? db;
    let cache = caches.get(rememberer);
    if (cache?.version !== version) {
      cache = { version, root: new Map(), count: 0 };
      caches.set(rememberer, cache);
    }
    const { root } = cache;
    let found: unknown = root;
    for (const part of key) found = (found as Level | undefined)?.get(part);
    if (found !== undefined) return found as Value;
    const value = beside(db, () => read(db, ...key));
    if (value !== undefined) keep(cache, key, value);
    return value;
  };
}

function keep(cache: { root: Level; count: number }, key: string[], value: unknown): void {
  if (cache.count >= valuesMax) {
    cache.root.clear();
    cache.count = 0;
  }
  let level = cache.root;
  for (const part of key.slice(0, -1)) {
    const next = (level.get(part) as Level | undefined) ?? new Map<string, unknown>();
    level.set(part, next);
    level = next;
  }
  level.set(key.at(-1) ?? "", value);
  cache.count++;
}
