import { join } from "node:path";
import type { Figures } from "./benchmark.ts";
import { outputOf } from "./child.ts";

/** The same request again and again, on each connection as soon as the answer to the last one is there. */
export type Load = {
  url: string;
  method?: "GET" | "POST";
  headers?: Record<string, string>;
  body?: string;
  connections: number;
  seconds: number;
  /** Between an answer and the connection's next request. */
  pauseMs?: number;
};

type Summary = {
  answered: number;
  refused: number;
  broken: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  worstMs: number;
};

const script = join(import.meta.dir, "load.lua");

/**
 * Puts the load on a server, from a process of its own. `answered` counts the answers that came within the time; of
 * each connection one more request may have been under way when it was over.
 * @throws when any request was refused or broke off: such figures tell nothing.
 */
export async function load(load: Load): Promise<{ answered: number; figures: Figures }> {
  const { url, method = "GET", headers = {}, body = "", connections, seconds, pauseMs = 0 } = load;
  const wrk = ["wrk", "--threads", "1", "--connections", `${connections}`, "--duration", `${seconds}s`];
  // An answer that is slow is a figure and no failure, and wrk would take one of two seconds for a failure.
  wrk.push("--timeout", "10s");
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const output = await outputOf([
    ...wrk,
    "--script",
    script,
    url,
    "--",
    method,
    body,
    `${pauseMs}`,
    ...lines,
  ]);
  const { answered, refused, broken, ...rest } = JSON.parse(
    output.trim().split("\n").at(-1) ?? "",
  ) as Summary;
  if (refused > 0 || broken > 0 || answered === 0) {
    throw new Error(
      `${url}: ${answered} answers, ${refused} of them refusals, and ${broken} broken connections`,
    );
  }
  const { p50Ms, p99Ms, worstMs } = rest;
  return { answered, figures: { perSecond: answered / rest.seconds, p50Ms, p99Ms, worstMs } };
}
