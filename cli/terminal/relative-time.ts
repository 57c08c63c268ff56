const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Largest first; each applies from `from` milliseconds on, so that 90 days are not rounded to 3 months. */
const units = [
  { unit: "year", ms: 365 * dayMs, from: 2 * 365 * dayMs },
  { unit: "month", ms: 30 * dayMs, from: 120 * dayMs },
  { unit: "day", ms: dayMs, from: 2 * dayMs },
  { unit: "hour", ms: hourMs, from: 2 * hourMs },
  { unit: "minute", ms: minuteMs, from: minuteMs },
] as const;

const format = new Intl.RelativeTimeFormat("en", { style: "narrow" });

/** Formats a timestamp of the API for a narrow column: `just now`, `5m ago`, `in 90d`; null is `never`. */
export function relativeTime(at: string | null, now = Date.now()): string {
  if (at === null) return "never";
  const distanceMs = Date.parse(at) - now;
  // Half a minute of tolerance: "in 90d" stays that for a moment after it was created.
  const found = units.find(({ from }) => Math.abs(distanceMs) >= from - minuteMs / 2);
  if (!found) return "just now";
  const { unit, ms } = found;
  return format.format(Math.sign(distanceMs) * Math.round(Math.abs(distanceMs) / ms), unit);
}
