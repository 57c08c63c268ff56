import { constants, watch } from "node:fs";
import { join } from "node:path";
import { touchFile } from "../system/on-disk.ts";

/** The delay of a second look, in milliseconds: Bun does not report a change within a millisecond of another one. */
const secondLookMs = 50;

/**
 * How long to wait before watching again if the file could not be recreated (a full disk, no file descriptor), in
 * milliseconds.
 */
const retryMs = 1_000;

/**
 * Notifies the server of the data folder that another process has queued deliveries. The server does not poll: the
 * file system wakes it.
 * @throws the operating system's error when the folder cannot be written.
 */
export function signalWork(dataDir: string): void {
  touchFile(signalFile(dataDir), constants.O_TRUNC);
}

/**
 * Calls `onSignal` after every signal of another process, immediately and once more. Returns the function that stops
 * watching.
 * @throws the operating system's error when the folder cannot be written at the start.
 */
export function watchForWork(dataDir: string, onSignal: () => void): () => void {
  let secondLook: Timer | undefined;
  let retry: Timer | undefined;
  let watcher = startWatching();

  function startWatching() {
    signalWork(dataDir);
    return watch(signalFile(dataDir), (change) => {
      // The file was deleted or replaced, and this watcher does not see changes to a new one.
      if (change === "rename") restartWatching();
      onSignal();
      clearTimeout(secondLook);
      secondLook = setTimeout(onSignal, secondLookMs);
    });
  }

  function restartWatching() {
    watcher.close();
    try {
      watcher = startWatching();
      onSignal();
    } catch {
      retry = setTimeout(restartWatching, retryMs);
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
