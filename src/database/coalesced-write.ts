import type { Commit } from "./commit.ts";
import type { Transaction } from "./database.ts";

/**
 * Values by key that the calls of a commit change as often as they like, and that are written once for all of them, at
 * its end. Only `get` sees a value before that.
 */
export function coalescedWrite<Value>(write: (tx: Transaction, key: string, value: Value) => void) {
  const valuesOf = new WeakMap<Commit, Map<string, Value>>();

  function get(tx: Transaction, key: string): Value | undefined {
    return valuesOf.get(tx.commit)?.get(key);
  }

  function set(tx: Transaction, key: string, value: Value): void {
    const { commit } = tx;
    const values = valuesOf.get(commit) ?? new Map<string, Value>();
    valuesOf.set(commit, values);
    const isWaiting = values.has(key);
    values.set(key, value);
    commit.hasChanged = true;
    if (!isWaiting) commit.beforeCommit(() => writeFrom(values, tx, key));
  }

  /** Writes the value that waits, where one does: before a change that depends on it. */
  function writeNow(tx: Transaction, key: string): void {
    writeFrom(valuesOf.get(tx.commit), tx, key);
  }

  function writeFrom(values: Map<string, Value> | undefined, tx: Transaction, key: string): void {
    const value = values?.get(key);
    values?.delete(key);
    if (value !== undefined) write(tx, key, value);
  }

  return { get, set, writeNow };
}
