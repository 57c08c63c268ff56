import { expect } from "bun:test";
import { apiClient } from "../support/client.ts";
import type { TestServer } from "../support/server.ts";

/** Pino's number for an error. */
const errorLevel = 50;

/**
 * Holds the server's log against what attacks must leave there: one JSON line for each record, and no fault of ours.
 * To be called when the attacks are over; it waits for what they left by asking the server once more.
 */
export async function expectNoFaults(server: TestServer): Promise<void> {
  const last = (await apiClient(server.url).get("/nowhere")).headers.get("x-request-id");
  await server.logLine(({ request_id }) => request_id === last);
  for (const line of server.logLines()) {
    const record = JSON.parse(line) as { level: number; status?: number };
    expect(record.level, line).toBeLessThan(errorLevel);
    expect(record.status ?? 0, line).toBeLessThan(500);
  }
}
