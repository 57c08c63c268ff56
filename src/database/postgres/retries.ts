import type { Connections } from "./connections.ts";
import { isOutcomeUnknown, isRepeatable } from "./errors.ts";
import type { Result } from "./values.ts";

/** How often something is tried whose connection breaks. */
const triesMax = 3;

/** After this time it is not tried again, in milliseconds: whoever waits should hear of an outage. */
const triesForMs = 5_000;

/** Counts the tries of one thing, which begins with the first of them. */
export class Retries {
  readonly #startedAt = performance.now();
  #tries = 1;

  /** Whether to try again after this error. What may have been carried out by the last try must bear it a second time. */
  after(error: unknown): boolean {
    const mayWork = isOutcomeUnknown(error) || isRepeatable(error);
    return mayWork && this.#tries++ < triesMax && performance.now() - this.#startedAt < triesForMs;
  }
}

/** Runs a statement that may be carried out twice, and again when the connection breaks. */
export async function retried(
  connections: Connections,
  text: string,
  parameters: readonly unknown[] = [],
): Promise<Result> {
  const retries = new Retries();
  while (true) {
    try {
      return await connections.query(text, parameters);
    } catch (error) {
      if (!retries.after(error)) throw error;
    }
  }
}
