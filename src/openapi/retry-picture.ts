import { backoffMs } from "../deliveries/schedule.ts";

/** The settings that the picture is drawn from, as `Config` has them. */
export type RetrySettings = { webhooksMaxAttempts: number; webhooksBackoffBase: number };

/** More attempts than this are named, not drawn. */
const rowsMax = 10;
const rowHeight = 46;
const width = 360;
const barWidthMax = 300;
const left = 34;

/**
 * Returns an SVG image of the attempts for one event: a row for each, with the wait before it and the time since the
 * first. The bars are logarithmic, since each wait is six times the one before. It has classes instead of colours.
 */
export function retryPicture({ webhooksMaxAttempts, webhooksBackoffBase }: RetrySettings): string {
  const waits = [0];
  for (let attempt = 1; attempt < webhooksMaxAttempts; attempt++)
    waits.push(backoffMs(attempt, webhooksBackoffBase * 1000));
  const drawn = waits.slice(0, rowsMax);
  const longest = Math.log1p(drawn.at(-1) ?? 0);
  let sinceFirst = 0;
  const rows = drawn.map((wait, i) => {
    sinceFirst += wait;
    const said = i === 0 ? "at once" : `${spanInWords(wait)} later, ±10 %`;
    const total = i < 2 ? "" : `${spanInWords(sinceFirst)} in all`;
    const bar = i === 0 ? 0 : Math.max(4, (Math.log1p(wait) / longest) * barWidthMax);
    const y = i * rowHeight + 18;
    return [
      `<circle class="dot" cx="14" cy="${y - 5}" r="11"/>`,
      `<text class="number" x="14" y="${y - 1}" text-anchor="middle">${i + 1}</text>`,
      `<text x="${left}" y="${y}">${said}</text>`,
      `<text class="total" x="${width - 4}" y="${y}" text-anchor="end">${total}</text>`,
      `<rect class="bar" x="${left}" y="${y + 7}" width="${bar.toFixed(1)}" height="7" rx="2"/>`,
    ].join("");
  });
  const more = waits.length - drawn.length;
  if (more > 0) {
    const y = drawn.length * rowHeight + 18;
    rows.push(`<text x="${left}" y="${y}">and ${more} more, up to attempt ${waits.length}</text>`);
  }
  const height = rows.length * rowHeight;
  const viewBox = `0 0 ${width} ${height}`;
  const label = `Attempts at delivering one event: ${waits.length}, with growing waits between them`;
  return `<svg class="retries" viewBox="${viewBox}" role="img" aria-label="${label}">${rows.join("")}</svg>`;
}

/** "10 s", "1 min", "3 h 36 min": the two largest units that are not zero. */
function spanInWords(ms: number): string {
  if (ms < 1000) return `${Number(ms.toPrecision(2))} ms`;
  const units = [
    [86_400, "days"],
    [3_600, "h"],
    [60, "min"],
    [1, "s"],
  ] as const;
  let rest = ms / 1000;
  const parts: string[] = [];
  for (const [seconds, name] of units) {
    const count =
      seconds === 1 && parts.length === 0 ? Number(rest.toPrecision(2)) : Math.floor(rest / seconds);
    if (count > 0 && parts.length < 2) parts.push(`${count} ${name}`);
    rest -= count * seconds;
  }
  return parts.join(" ");
}
