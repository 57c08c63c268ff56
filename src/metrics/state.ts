import { statSync } from "node:fs";
import { join } from "node:path";
import { Gauge, type Registry } from "prom-client";
import type { Database } from "../database/database.ts";
import type { QueueSurvey } from "../deliveries/queue-survey.ts";
import { freeBytes } from "../system/disk-space.ts";

/** What the state is read from. */
export type StateSources = {
  database: Pick<Database, "failure" | "file">;
  dataDir: string;
  survey: Pick<QueueSurvey, "figures">;
};

/** Adds the metrics of the queue and the files. The returned function reads their state: call it before a scrape. */
export function stateMetrics(
  registry: Registry,
  { database, dataDir, survey }: StateSources,
): () => Promise<void> {
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const jobs = gauge("parley_queue_jobs", "Waiting deliveries, by the status of their subscription.", [
    "status",
  ]);
  const fanOuts = gauge("parley_queue_fan_outs", "Events not yet queued for all of their subscriptions.");
  const oldest = gauge("parley_queue_oldest_due_seconds", "How long the oldest due delivery has been due.");
  const subscriptions = gauge(
    "parley_subscriptions",
    "Subscriptions by status. failing are active, but their latest attempt failed.",
    ["status"],
  );
  const failing = gauge("parley_storage_failing", "1 while the data cannot be written or checkpointed.");
  // On PostgreSQL its own exporter tells about the database.
  const files = database.file && {
    databaseBytes: gauge("parley_database_bytes", "Size of parley.db."),
    walBytes: gauge("parley_wal_bytes", "Size of parley.db-wal, the write-ahead log."),
  };
  const diskFree = gauge("parley_disk_free_bytes", "Free space on the disk of the data folder.");

  const readFiles = () => {
    failing.set(database.failure() === undefined ? 0 : 1);
    files?.databaseBytes.set(sizeOf(join(dataDir, "parley.db")));
    files?.walBytes.set(sizeOf(join(dataDir, "parley.db-wal")));
    diskFree.set(freeBytes(dataDir));
  };
  return async () => {
    readFiles();
    const { oldestDueMs, counts, ...figures } = await survey.figures();
    oldest.set(oldestDueMs / 1_000);
    for (const [status, count] of Object.entries(figures.subscriptions)) subscriptions.set({ status }, count);
    // Not a number until the first count has come to its end.
    for (const status of ["active", "disabled"] as const) jobs.set({ status }, counts?.jobs[status] ?? NaN);
    fanOuts.set(counts?.fanOuts ?? NaN);
  };
}

/** The size in bytes; 0 for a file that is missing, as the WAL may be. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
