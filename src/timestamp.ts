/**
 * Formats a time as in every response and delivery: RFC 3339 with milliseconds and a numeric offset. `at` is in
 * milliseconds since 1970, as in the database; null stays null.
 */
export function timestamp(at: number): string;
export function timestamp(at: number | null): string | null;
export function timestamp(at: number | null): string | null {
  if (at === null) return null;
  if (at !== last.at) last = { at, text: `${new Date(at).toISOString().slice(0, -1)}+00:00` };
  return last.text;
}

// Cached, because requests that arrive together share a millisecond.
let last = { at: Number.NaN, text: "" };
