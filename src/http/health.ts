import { Elysia } from "elysia";
import type { Database } from "../database/open.ts";

/** `/healthz`: answers 200 without a token as long as the database can be read. */
export function healthRoutes(database: Database) {
  return new Elysia().get("/healthz", () => {
    database.dataVersion();
    return { status: "ok" };
  });
}
