import { Elysia } from "elysia";
import type { Database } from "../database/database.ts";

/**
 * `/healthz`, without a token: 200 while the database can be read and written, otherwise 503 with the reason. Anybody
 * may read it, so the reason names no path.
 */
export function healthRoutes(database: Database) {
  return new Elysia().get("/healthz", ({ status }) => {
    database.dataVersion();
    const reason = database.failure();
    return reason === undefined ? { status: "ok" } : status(503, { status: "failing", reason });
  });
}
