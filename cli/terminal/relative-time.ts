const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The largest first; each is used from so many milliseconds on, so that 90 days stay 90 days. */
const units = [
  { sign: "y", ms: 365 * dayMs, from: 2 * 365 * dayMs },
  { sign: "mo", ms: 30 * dayMs, from: 120 * dayMs },
  { sign: "d", ms: dayMs, from: 2 * dayMs },
  { sign: "h", ms: hourMs, from: 2 * hourMs },
  { sign: "m", ms: minuteMs, from: minuteMs },
];

/** A time of the API as people say it in a narrow column: `just now`, `5m ago`, `in 90d`; null is `never`. */
export function relativeTime(at: string | null, now = Date.now()): string {
  if (at === null) return "never";
  const distanceMs = Date.parse(at) - now;
  // What was "in 90 days" a moment ago still is.
  const unit = units.find(({ from }) => Math.abs(distanceMs) >= from - minuteMs / 2);
  if (!unit) return "just now";
  const span = `${Math.round(Math.abs(distanceMs) / unit.ms)}${unit.sign}`;
  return distanceMs > 0 ? `in ${span}` : `${span} ago`;
}
