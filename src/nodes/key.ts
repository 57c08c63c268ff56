import type { Transaction } from "../database/database.ts";
import type { Connections } from "../database/postgres/connections.ts";
import { DomainError } from "../errors.ts";
import { selectHostOfAny, selectNodes } from "./store.ts";

/**
 * Call this for a server without the key that the secrets of its workspace are encrypted with. Alone, it would make its
 * own key the workspace's, because that one may be lost; others have it and go on using it.
 * @throws DomainError `key_missing` when other servers of the database run.
 */
export async function requireNoOthers(connections: Connections, dataDir: string): Promise<void> {
  const [other] = await selectNodes(connections);
  if (other) throw otherKey(dataDir, other.hostName);
}

/**
 * The same, in the change that makes the server's key the workspace's: whichever of servers that start at once joins
 * first is seen by the others.
 * @throws DomainError `key_missing`.
 */
export function requireNoOthersYet(tx: Transaction, dataDir: string): void {
  const host = selectHostOfAny(tx);
  if (host !== undefined) throw otherKey(dataDir, host);
}

function otherKey(dataDir: string, host: string): DomainError {
  return new DomainError(
    "key_missing",
    `The key in ${dataDir} is missing, or it is not the one that the other servers of this workspace use, such as ` +
      `that on ${host}. Copy secret.key from its data folder, or set PARLEY_SECRET_KEY to its key, and ` +
      "start again. If this key is the right one, stop the others first.",
  );
}
