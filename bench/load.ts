import { join } from "node:path";
import type { Figures } from "./benchmark.ts";
import { outputOf } from "./child.ts";

/** One request, repeated on each connection as soon as the response to the previous one is there. */
export type Load = {
  url: string;
  method?: "GET" | "POST";
  headers?: Record<string, string>;
  body?: string;
  connections: number;
  seconds: number;
  /** Between a response and the connection's next request. */
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
 * Puts the load on a server from a separate process. `answered` counts the responses that came in time; when time was
 * up, each connection may have had one more request in flight.
 * @throws when any request was refused or broke off, because the figures then mean nothing.
 */
export async function load(load: Load): Promise<{ answered: number; figures: Figures }> {
  const { url, method = "GET", headers = {}, body = "", connections, seconds, pauseMs = 0 } = load;
  const wrk = ["wrk", "--threads", "1", "--connections", `${connections}`, "--duration", `${seconds}s`];
  // A slow response is a figure and no failure; by default wrk counts one of two seconds as a failure.
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
