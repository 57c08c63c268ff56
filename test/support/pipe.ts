import { constants, openSync, readSync } from "node:fs";

/** A pipe with a name, opened so that nobody waits on it: neither who writes into it nor who reads. Returns its descriptor. */
export function openPipe(path: string): number {
  Bun.spawnSync(["mkfifo", path]);
  return openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
}

/** What the pipe holds at this moment, `most` bytes of it, as text. */
export function takeFrom(pipe: number, most: number): string {
  const bytes = Buffer.alloc(most);
  try {
    return bytes.toString("utf8", 0, readSync(pipe, bytes));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EAGAIN") return "";
    throw error;
  }
}
