import { expect } from "bun:test";
import type { TestServer } from "./server.ts";

/** Serves metrics at a free port of this machine. */
export const withMetrics = { PARLEY_METRICS_ADDRESS: "127.0.0.1:0" };

/** Where the server, which was started `withMetrics`, serves them. */
export async function metricsUrl(server: TestServer): Promise<string> {
  const line = await server.logLine(({ msg }) => msg === "metrics.started");
  return String(line.url);
}

/** Scrapes the server. `text` is what came, `values` has each value by its name and labels as they stand there. */
export async function scrape(url: string): Promise<{ text: string; values: Map<string, number> }> {
  const response = await fetch(url);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
  const text = await response.text();
  const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const values = samples.map((line): [string, number] => {
    const at = line.lastIndexOf(" ");
    return [line.slice(0, at), Number(line.slice(at + 1))];
  });
  return { text, values: new Map(values) };
}

/** The names of the metrics of a scrape, without the endings of a histogram. */
export function metricNames(text: string): string[] {
  return [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = ""]) => name);
}
