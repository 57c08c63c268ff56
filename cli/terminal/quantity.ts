const byteUnits = ["B", "kB", "MB", "GB", "TB", "PB"] as const;

/** Formats a number of bytes in decimal units, as disks are sold: `512 B`, `1.2 GB`, `34 GB`. */
export function byteSize(bytes: number): string {
  let value = Math.max(0, bytes);
  let unit = 0;
  // What would be rounded to 1000 belongs to the next unit.
  while (value >= 999.5 && unit < byteUnits.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)} ${byteUnits[unit]}`;
}

const spanUnits = [
  { unit: "d", ms: 86_400_000 },
  { unit: "h", ms: 3_600_000 },
  { unit: "min", ms: 60_000 },
  { unit: "s", ms: 1_000 },
] as const;

/** Formats a span of time, given in milliseconds, in the largest unit that it holds twice: `250 ms`, `3 min`, `47 h`. */
export function timeSpan(ms: number): string {
  const found = spanUnits.find((each) => ms >= 2 * each.ms) ?? (ms >= 1_000 ? spanUnits[3] : undefined);
  return found ? `${Math.round(ms / found.ms)} ${found.unit}` : `${Math.max(0, Math.round(ms))} ms`;
}

/** Formats a count with its noun: `no jobs`, `1 job`, `1,204 jobs`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  if (count === 0) return `no ${plural}`;
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}

/** Formats when something is due, given as a timestamp of the API: `in 3 min`, or `due 5 s ago`. */
export function dueText(at: string, now = Date.now()): string {
  const ms = Date.parse(at) - now;
  return ms <= 0 ? `due ${timeSpan(-ms)} ago` : `in ${timeSpan(ms)}`;
}
