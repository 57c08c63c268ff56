import { join } from "node:path";
import type { Figures } from "./benchmark.ts";
import { type Child, outputOf, startChild } from "./child.ts";
import { figuresOf } from "./spans.ts";

type Floor = "constant" | "insert" | "page" | "pinned-post";

/** Starts one of the servers in `floors/`; its first line is its address. */
export async function startFloor(name: Exclude<Floor, "pinned-post">, ...args: string[]): Promise<Child> {
  return await startChild(["bun", fileOf(name), ...args]);
}

/** Posts to the receiver as a bare loop does, so many at a time; a request's span ends when its answer is read. */
export async function postPinned(url: string, concurrency: number, seconds: number): Promise<Figures> {
  const output = await outputOf(["bun", fileOf("pinned-post"), url, `${concurrency}`, `${seconds}`]);
  const sent = JSON.parse(output) as { spansMs: number[]; seconds: number };
  return { perSecond: sent.spansMs.length / sent.seconds, ...figuresOf(sent.spansMs) };
}

function fileOf(floor: Floor): string {
  return join(import.meta.dir, "floors", `${floor}.ts`);
}
