import type { Color } from "./color.ts";

type Attempt = { succeeded: boolean; response_status: number | null; error: string | null; replay: boolean };

/** The response status in a word or two; without a response, the error. */
export function resultOf({ succeeded, response_status, error, replay }: Attempt): string {
  const failure = response_status === null ? (error ?? "failed") : `failed ${response_status}`;
  const result = succeeded ? `ok ${response_status}` : failure;
  return replay ? `${result} (replay)` : result;
}

/** Green for an attempt that succeeded, red for one that failed. */
export function attemptColor({ succeeded }: Pick<Attempt, "succeeded">): Color {
  return succeeded ? "green" : "red";
}
