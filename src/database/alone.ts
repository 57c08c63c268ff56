import { prepared } from "./prepared.ts";
import type { Transaction } from "./database.ts";

// Not a SELECT, so it counts as a change on PostgreSQL: from then on a write is made under the lock that keeps all
// others away.
const statement = prepared(({ $client }) => $client.prepare<unknown, []>("VALUES (1)"));

/**
 * Waits until no other write is under way, on any node. Call it first in a write that takes the newest number of a table
 * for a bound below which nothing is added any more: numbers are given out before a commit, so on PostgreSQL a row with a
 * lower one may be committed later.
 */
export function waitForOthers(tx: Transaction): void {
  // SQLite has one writer at a time.
  if (tx.engine === "postgres") statement(tx).get();
}
