import { Elysia } from "elysia";
import type { Database } from "../database/database.ts";
import type { Readiness } from "../health/readiness.ts";

/**
 * The routes that say how the server is, without a token. Anybody may read them, so no reason names a path.
 * `/healthz`: 200 while the database can be read and written, otherwise 503 with the reason. `/livez`: 200 as long as
 * the process answers; it touches nothing else. `/readyz`: each check with its figures, 503 when one fails or the
 * server is about to stop.
 */
export function healthRoutes(database: Database, readiness: Readiness) {
  return new Elysia()
    .get("/healthz", async ({ status }) => {
      const reason = database.failure() ?? (await whyUnreadable(database));
      return reason === undefined ? { status: "ok" } : status(503, { status: "failing", reason });
    })
    .get("/livez", () => ({ status: "ok" }))
    .get("/readyz", async ({ status }) => {
      const report = await readiness.report();
      return report.status === "ok" ? report : status(503, report);
    });
}

/** Reads one row. Returns why it cannot be read. */
async function whyUnreadable(database: Database): Promise<string | undefined> {
  try {
    await database.ask((db) => db.cacheVersion.now());
    return undefined;
  } catch (error) {
    // What is known of a database that is away by then says since when.
    const reason = database.failure();
    if (reason === undefined) throw error;
    return reason;
  }
}
