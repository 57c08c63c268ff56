import { constants, watch } from "node:fs";
import { join } from "node:path";
import { touchFile } from "../system/on-disk.ts";

/** Bun says nothing of a change that comes within a millisecond of another; what it left out is seen this late. */
const secondLookMs = 50;

/** How soon to watch again where the file could not be made anew: a full disk, no file descriptor. In milliseconds. */
const retryMs = 1_000;

/**
 * Tells the server that works on the data folder that another process has given it something to deliver. Costs the
 * server nothing while nobody does: it is woken by the file system and asks no questions meanwhile.
 * @throws the operating system's error when the folder cannot be written.
 */
export function signalWork(dataDir: string): void {
  touchFile(signalFile(dataDir), constants.O_TRUNC);
}

/**
 * Calls `onSignal` after every signal of another process, at once and once more. Returns the function that ends it.
 * @throws the operating system's error when the folder cannot be written to begin with.
 */
export function watchForWork(dataDir: string, onSignal: () => void): () => void {
  let secondLook: Timer | undefined;
  let retry: Timer | undefined;
  let watcher = begin();

  function begin() {
    signalWork(dataDir);
    return watch(signalFile(dataDir), (change) => {
      // The file itself is gone or another one: what happens to that one is not told here.
      if (change === "rename") beginAgain();
      onSignal();
      clearTimeout(secondLook);
      secondLook = setTimeout(onSignal, secondLookMs);
    });
  }

  function beginAgain() {
    watcher.close();
    try {
      watcher = begin();
      onSignal();
    } catch {
      retry = setTimeout(beginAgain, retryMs);
    }
  }

  return () => {
    clearTimeout(secondLook);
    clearTimeout(retry);
    watcher.close();
  };
}

function signalFile(dataDir: string): string {
  return join(dataDir, "queue.signal");
}
