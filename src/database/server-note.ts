import { lstatSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isServed } from "./server-lock.ts";
import { writeFileOnce } from "../system/on-disk.ts";

/** Names the server for commands; the lock of the folder, and not this file, says whether it runs. */
const fileName = "server.json";

/** A larger file is not ours. */
const bytesMax = 4_096;

/** What a server notes about itself in its data folder, for commands on the same machine. */
export type ServerNote = { url: string; pid: number; version: string; started_at: string };

/** Notes the running server. A server that cannot write it, because the disk is full, serves all the same. */
export function noteServer(dataDir: string, note: ServerNote): void {
  try {
    writeFileOnce(join(dataDir, fileName), `${JSON.stringify(note)}\n`);
  } catch {
    // Only `status` and `doctor` read it, and they say that the address is not known.
    forgetServer(dataDir);
  }
}

/** Removes the note of a server that stops. */
export function forgetServer(dataDir: string): void {
  try {
    rmSync(join(dataDir, fileName), { force: true });
  } catch {
    // What is left is ignored, because nobody holds the lock.
  }
}

/**
 * The server of the data folder: whether one runs, and what it noted about itself, which may be missing.
 * @throws the operating system's error when this login may not read the folder.
 */
export function findServer(dataDir: string): { isRunning: boolean; note: ServerNote | undefined } {
  const isRunning = isServed(dataDir);
  return { isRunning, note: isRunning ? readNote(join(dataDir, fileName)) : undefined };
}

function readNote(path: string): ServerNote | undefined {
  try {
    const file = lstatSync(path);
    if (!file.isFile() || file.size > bytesMax) return undefined;
    const note = JSON.parse(readFileSync(path, "utf8")) as Partial<Record<keyof ServerNote, unknown>>;
    const { url, pid, version, started_at } = note;
    if (typeof url !== "string" || !URL.canParse(url) || typeof pid !== "number") return undefined;
    if (typeof version !== "string" || typeof started_at !== "string") return undefined;
    return { url, pid, version, started_at };
  } catch {
    return undefined;
  }
}
