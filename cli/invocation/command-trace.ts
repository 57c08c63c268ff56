import type { Database } from "../../src/database/database.ts";
import type { Tracing } from "../../src/tracing/tracing.ts";
import type { TracedWork } from "../../src/tracing/work.ts";

/** How long a command waits at its end for the collector to take its spans, in milliseconds. */
const tracesWaitMs = 1_000;

/**
 * The trace of one command, for the events that it emits. It begins with the first write, so a command that only reads
 * loads nothing and sends nothing.
 */
export class CommandTrace {
  readonly #endpoint: string;
  readonly #name: string;
  #begun: Promise<{ tracing: Tracing; work: TracedWork }> | undefined;

  /** `endpoint` is `PARLEY_OTLP_ENDPOINT`, empty while traces are off. */
  constructor(endpoint: string, name: string) {
    this.#endpoint = endpoint;
    this.#name = name;
  }

  /** Returns the command's span, and begins it if need be; undefined while traces are off. */
  async work(): Promise<TracedWork | undefined> {
    if (this.#endpoint === "") return undefined;
    this.#begun ??= this.#begin();
    return (await this.#begun).work;
  }

  /** Returns the same database, whose writes are part of the trace. */
  around(database: Database): Database {
    if (this.#endpoint === "") return database;
    return { ...database, write: async (change) => await database.write(change, await this.work()) };
  }

  /** Ends the span and sends what there is, in bounded time. `error` is what the command failed with. */
  async end(error?: unknown): Promise<void> {
    const begun = await this.#begun;
    begun?.work.endCommand(error);
    await begun?.tracing.stop();
  }

  async #begin(): Promise<{ tracing: Tracing; work: TracedWork }> {
    const { startTracing } = await import("../../src/tracing/start.ts");
    const tracing = startTracing(this.#endpoint, { stopMaxMs: tracesWaitMs });
    return { tracing, work: tracing.beginCommand(`parley ${this.#name}`) };
  }
}
