import type { Database } from "../database/database.ts";
import type { QueueSurvey } from "../deliveries/queue-survey.ts";
import type { Worker } from "../deliveries/worker.ts";
import type { FanOutLoop } from "../deliveries/fan-out-loop.ts";
import { freeBytes } from "../system/disk-space.ts";
import type { Check } from "./check.ts";
import { WriteProbe } from "./write-probe.ts";

/** Results are shared for this long, in milliseconds, so that frequent requests load neither the disk nor the queue. */
const sharedForMs = 1_000;

/** Less free space than this fails, in bytes: the WAL, a backup's manifest and the log need some too. */
const freeBytesMin = 64 * 1_024 * 1_024;

/** A loop of the worker that has not gone round for this long is stuck, in milliseconds. */
const stalledMaxMs = 30_000;

/** A machine that was just suspended needs a moment before its loops go round again, in milliseconds. */
const secondLookMs = 100;

/** Jobs may be due for this long without any attempt, in milliseconds, or for longer where retries are slow. */
const overdueMaxMs = 5 * 60_000;

/** Twice the longest pause between two attempts to one receiver, as a multiple of `WEBHOOKS_BACKOFF_BASE`. */
const pausesInBases = 12;

/** All checks. `status` is `ok` if none fails. */
export type Report = {
  status: "ok" | "failing" | "draining";
  checks: { writes: Check; worker: Check; oldest_due_job: Check; disk_space: Check };
};

/** What the checks look at. Without `deliveries` (`INTEGRATIONS_ENABLED=false`), those of the worker are off. */
export type ReadinessParts = {
  database: Pick<Database, "failure" | "probeWrite" | "file">;
  dataDir: string;
  survey: Pick<QueueSurvey, "figures">;
  deliveries:
    | {
        worker: Pick<Worker, "stalledMs" | "sinceAttemptMs">;
        fanOutLoop: Pick<FanOutLoop, "stalledMs">;
        /** `WEBHOOKS_BACKOFF_BASE` in milliseconds. */
        backoffBaseMs: number;
      }
    | undefined;
};

/** Whether the server should get traffic. Nothing runs between requests. */
export class Readiness {
  readonly #parts: ReadinessParts;
  readonly #writeProbe: WriteProbe;
  #isDraining = false;
  #latest: Promise<Report["checks"]> | undefined;

  constructor(parts: ReadinessParts) {
    this.#parts = parts;
    this.#writeProbe = new WriteProbe(parts.database);
  }

  /** From now on the report is `draining`: call this before a stop. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Returns the report within about five seconds. Its checks are at most a second older. Never rejects. */
  async report(): Promise<Report> {
    this.#latest ??= this.#check();
    const checks = await this.#latest;
    const isFailing = Object.values(checks).some(({ status }) => status === "failing");
    return { status: this.#isDraining ? "draining" : isFailing ? "failing" : "ok", checks };
  }

  async #check(): Promise<Report["checks"]> {
    const [writes, worker, oldest] = await Promise.all([
      this.#writeProbe.check(),
      this.#checkWorker(),
      this.#checkOldestDueJob(),
    ]);
    setTimeout(() => (this.#latest = undefined), sharedForMs).unref();
    return { writes, worker, oldest_due_job: oldest, disk_space: this.#checkDiskSpace() };
  }

  async #checkWorker(): Promise<Check> {
    if (this.#stalledMs() > stalledMaxMs) await Bun.sleep(secondLookMs);
    const stalledMs = this.#stalledMs();
    if (this.#parts.deliveries === undefined) return { status: "off" };
    if (stalledMs <= stalledMaxMs) return { status: "ok" };
    const seconds = Math.round(stalledMs / 1_000);
    return {
      status: "failing",
      reason: `The loop that starts deliveries has not gone round for ${seconds} seconds. Restart the server.`,
    };
  }

  #stalledMs(): number {
    const { deliveries } = this.#parts;
    return deliveries ? Math.max(deliveries.worker.stalledMs(), deliveries.fanOutLoop.stalledMs()) : 0;
  }

  // A job may be due for long while nothing is wrong: its receiver is slow, or was enabled again after a week. So the
  // check fails only if nothing at all is attempted meanwhile.
  async #checkOldestDueJob(): Promise<Check> {
    const { deliveries, survey } = this.#parts;
    if (!deliveries) return { status: "off" };
    try {
      const { oldestDueMs } = await survey.figures();
      const age_seconds = Math.round(oldestDueMs / 1_000);
      const limitMs = Math.max(overdueMaxMs, pausesInBases * deliveries.backoffBaseMs);
      const waitedMs = Math.min(oldestDueMs, deliveries.worker.sinceAttemptMs());
      if (waitedMs <= limitMs) return { status: "ok", age_seconds };
      const reason = `Deliveries are due, and none was attempted for ${Math.round(waitedMs / 1_000)} seconds.`;
      return { status: "failing", reason, age_seconds };
    } catch {
      return { status: "failing", reason: "The queue cannot be read." };
    }
  }

  #checkDiskSpace(): Check {
    // The disk of a PostgreSQL is another machine's, which says so when a write fails.
    if (!this.#parts.database.file) return { status: "off" };
    try {
      const free_bytes = freeBytes(this.#parts.dataDir);
      if (free_bytes >= freeBytesMin) return { status: "ok", free_bytes };
      const reason = `Less than ${freeBytesMin / 1_024 / 1_024} MiB are free on the disk of the data folder.`;
      return { status: "failing", reason, free_bytes };
    } catch {
      return { status: "failing", reason: "The free space of the disk of the data folder cannot be read." };
    }
  }
}
