import { join } from "node:path";
import { type Child, outputOf, startChild } from "./child.ts";

type Floor = "constant" | "insert" | "page" | "pinned-post";

/** Starts one of the servers in `floors/`; its first line is its address. */
export async function startFloor(name: Exclude<Floor, "pinned-post">, ...args: string[]): Promise<Child> {
  return await startChild(["bun", fileOf(name), ...args]);
}

/** Posts to the receiver as fast as a bare loop can; returns the answers per second. */
export async function postPinned(url: string, concurrency: number, seconds: number): Promise<number> {
  const output = await outputOf(["bun", fileOf("pinned-post"), url, `${concurrency}`, `${seconds}`]);
  const sent = JSON.parse(output) as { answered: number; seconds: number };
  return sent.answered / sent.seconds;
}

function fileOf(floor: Floor): string {
  return join(import.meta.dir, "floors", `${floor}.ts`);
}
