import type { Database } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import type { Check } from "./check.ts";

/** How long a check waits for a write, in milliseconds: as long as a write waits for another process's lock. */
const waitMs = 5_000;

/** Makes a tiny write to see whether writing works. */
export class WriteProbe {
  readonly #database: Pick<Database, "failure" | "probeWrite">;
  /** Resolves to the reason why the write failed. */
  #inFlight: Promise<string | undefined> | undefined;

  constructor(database: Pick<Database, "failure" | "probeWrite">) {
    this.#database = database;
  }

  /** Returns the check within five seconds. A write that lasts longer is waited for again, not repeated. */
  async check(): Promise<Check> {
    const startedAt = performance.now();
    const { promise: late, resolve } = Promise.withResolvers<string>();
    const timer = setTimeout(
      resolve,
      waitMs,
      `A tiny write has not finished within ${waitMs / 1_000} seconds.`,
    );
    this.#inFlight ??= this.#write().finally(() => (this.#inFlight = undefined));
    const failed = await Promise.race([this.#inFlight, late]);
    clearTimeout(timer);
    const reason = failed ?? this.#database.failure();
    if (reason !== undefined) return { status: "failing", reason };
    return { status: "ok", duration_ms: Math.round((performance.now() - startedAt) * 100) / 100 };
  }

  async #write(): Promise<string | undefined> {
    try {
      await this.#database.probeWrite();
      return undefined;
    } catch (error) {
      return error instanceof DomainError ? error.message : "A tiny write failed.";
    }
  }
}
