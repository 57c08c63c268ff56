import { InvalidArgumentError } from "commander";

const unitMs = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
} as const;

const dateAndTime =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,3})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?$/;

/** A hundred years: more is a typing error, and the range of dates is limited. */
const longestMs = 36_525 * unitMs.d;

/**
 * Parses the time span of an option, `30s`, `15m`, `12h`, `90d` or `8w`, and returns milliseconds.
 * @throws InvalidArgumentError for anything else, for zero and for more than 100 years.
 */
export function parseDuration(text: string): number {
  const [, digits = "", unit = ""] = /^([0-9]{1,10})([smhdw])$/.exec(text) ?? [];
  const ms = Number(digits) * (unitMs[unit as keyof typeof unitMs] ?? 0);
  if (digits === "")
    throw new InvalidArgumentError("It takes a number and a unit: 30s, 15m, 12h, 90d or 8w.");
  if (ms === 0) throw new InvalidArgumentError("It must be longer than zero.");
  if (ms > longestMs) throw new InvalidArgumentError("It must not be longer than 100 years.");
  return ms;
}

/**
 * Parses the moment of an option and returns it in milliseconds since 1970: a time span is so long ago, and
 * `2026-05-04`, `2026-05-04T10:30` or `2026-05-04T10:30:00Z` is a date or a time, by this machine's clock where it names no
 * zone.
 * @throws InvalidArgumentError for anything else.
 */
export function parseMoment(text: string): number {
  if (!/^[0-9]{4}-/.test(text)) return Date.now() - parseDuration(text);
  // A date alone would be midnight in Greenwich.
  const at = dateAndTime.test(text)
    ? Date.parse(text.length === 10 ? `${text}T00:00` : text.replace(" ", "T"))
    : NaN;
  if (Number.isNaN(at))
    throw new InvalidArgumentError("It takes a time span, such as 12h, or a time, such as 2026-05-04T10:30.");
  return at;
}
