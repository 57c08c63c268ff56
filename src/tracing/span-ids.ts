import { type IdGenerator, RandomIdGenerator } from "@opentelemetry/sdk-trace";

/** The ids of a span. */
export type Ids = { traceId: string; spanId: string };

/** Generates random ids, except for spans whose ids are known before they begin. */
export class SpanIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  #given: Ids | undefined;

  generateTraceId(): string {
    return this.#given?.traceId ?? this.#random.generateTraceId();
  }

  generateSpanId(): string {
    return this.#given?.spanId ?? this.#random.generateSpanId();
  }

  /** Runs `begin`, whose span gets these ids, and returns its result. */
  giving<Result>(ids: Ids, begin: () => Result): Result {
    this.#given = ids;
    try {
      return begin();
    } finally {
      this.#given = undefined;
    }
  }
}

/**
 * Returns the id of the span of a numbered attempt, the first being 0. It follows from what is attempted, so a retry
 * can name the attempt before it, also after a restart, without a note of it in the database.
 */
export function attemptSpanId(eventId: string, subscriptionId: string, attempt: number): string {
  return Bun.SHA256.hash(`${eventId} ${subscriptionId} ${attempt}`, "hex").slice(0, 16);
}
