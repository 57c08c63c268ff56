/**
 * A time as every answer and every delivery shows it: RFC 3339 with milliseconds and a numeric offset.
 * `at` is milliseconds since 1970, as everything in the database; null stays null.
 */
export function timestamp(at: number): string;
export function timestamp(at: number | null): string | null;
export function timestamp(at: number | null): string | null {
  return at === null ? null : `${new Date(at).toISOString().slice(0, -1)}+00:00`;
}
