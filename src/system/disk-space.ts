import { statfsSync } from "node:fs";

/** With less free space than this, in bytes, somebody should make room. */
export const lowBytes = 1_000_000_000;

/**
 * The bytes that this login may still write to the file system of the path; less than what is free where a part is
 * reserved for root.
 * @throws the operating system's error when there is nothing at the path.
 */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}
