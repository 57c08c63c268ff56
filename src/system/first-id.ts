/** Returns what ids that are made from this time on do not come before; in milliseconds since 1970 (RFC 9562, 5.7). */
export function firstIdAt(ms: number): string {
  const digits = Math.max(0, ms).toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}`;
}
