import { watch, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Tells the server that works on the data folder that another process has given it something to deliver. Costs the
 * server nothing while nobody does: it is woken by the file system and asks no questions meanwhile.
 */
export function signalWork(dataDir: string): void {
  writeFileSync(signalFile(dataDir), "", { mode: 0o600 });
}

/** Calls `onSignal` each time another process signals work. Returns the function that ends it. */
export function watchForWork(dataDir: string, onSignal: () => void): () => void {
  signalWork(dataDir);
  const watcher = watch(signalFile(dataDir), () => onSignal());
  return () => watcher.close();
}

function signalFile(dataDir: string): string {
  return join(dataDir, "queue.signal");
}
