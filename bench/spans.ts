import type { Figures } from "./benchmark.ts";

/** The figures of spans that were measured one by one, all in milliseconds. */
export function figuresOf(spansMs: number[]): Figures {
  const sorted = spansMs.toSorted((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50Ms: at(0.5), p99Ms: at(0.99), worstMs: at(1) };
}
