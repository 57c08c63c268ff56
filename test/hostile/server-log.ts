import { expect } from "bun:test";
import { apiClient } from "../support/client.ts";
import type { TestServer } from "../support/server.ts";

/** Pino's number for an error. */
const errorLevel = 50;

/**
 * The lines that the server has logged up to now. A line may come after its answer, so the server is asked once more,
 * and what it has logged is complete when that request's own line, the last one here, has come.
 */
export async function linesUpToNow(server: TestServer): Promise<readonly string[]> {
  const last = (await apiClient(server.url).get("/nowhere")).headers.get("x-request-id");
  await server.logLine(({ request_id }) => request_id === last);
  return [...server.logLines()];
}

/** Holds the server's log against what attacks must leave there: one JSON line for each record, and no fault of ours. */
export async function expectNoFaults(server: TestServer): Promise<void> {
  for (const line of await linesUpToNow(server)) {
    const record = JSON.parse(line) as { level: number; status?: number };
    expect(record.level, line).toBeLessThan(errorLevel);
    expect(record.status ?? 0, line).toBeLessThan(500);
  }
}
