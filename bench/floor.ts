import { join } from "node:path";
import type { Figures } from "./benchmark.ts";
import { type Child, outputOf, startChild } from "./child.ts";
import { figuresOf } from "./spans.ts";

type Floor = "constant" | "insert" | "page" | "pinned-post" | "transaction";

/** Starts one of the servers in `floors/`; its first line is its address. */
export async function startFloor(name: Exclude<Floor, "pinned-post">, ...args: string[]): Promise<Child> {
  return await startChild(["bun", fileOf(name), ...args]);
}

/** How the bare loop posts: `concurrency` requests at a time, on new connections or on reused ones (`keepsAlive`). */
type Pinned = { concurrency: number; seconds: number; keepsAlive?: boolean; env?: Record<string, string> };

/** Posts to the receiver in a bare loop; a request's span ends when its response is read. */
export async function postPinned(url: string, pinned: Pinned): Promise<Figures> {
  const { concurrency, seconds, keepsAlive = false, env = {} } = pinned;
  const args = [url, `${concurrency}`, `${seconds}`, keepsAlive ? "keep-alive" : "close"];
  const sent = JSON.parse(await outputOf(["bun", fileOf("pinned-post"), ...args], env)) as Sent;
  return { perSecond: sent.spansMs.length / sent.seconds, ...figuresOf(sent.spansMs) };
}

type Sent = { spansMs: number[]; seconds: number };

function fileOf(floor: Floor): string {
  return join(import.meta.dir, "floors", `${floor}.ts`);
}
