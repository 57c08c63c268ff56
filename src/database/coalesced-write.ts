import type { Commit } from "./commit.ts";
import type { Transaction } from "./database.ts";

/**
 * Values by key that calls may set any number of times during a commit; each is written once, at its end. Until then
 * only `get` sees the value.
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
    const isPending = values.has(key);
    values.set(key, value);
    commit.hasChanged = true;
    if (!isPending) commit.beforeCommit(() => writePending(values, tx, key));
  }

  /** Writes the pending value now, if there is one: for a change that depends on it. */
  function writeNow(tx: Transaction, key: string): void {
    writePending(valuesOf.get(tx.commit), tx, key);
  }

  function writePending(values: Map<string, Value> | undefined, tx: Transaction, key: string): void {
    const value = values?.get(key);
    values?.delete(key);
    if (value !== undefined) write(tx, key, value);
  }

  return { get, set, writeNow };
}
