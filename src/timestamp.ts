/**
 * Formats a time as in every response and delivery: RFC 3339 with milliseconds and a numeric offset. `at` is in
 * milliseconds since 1970, as in the database; null stays null.
 */
export function timestamp(at: number): string;
export function timestamp(at: number | null): string | null;
export function timestamp(at: number | null): string | null {
  if (at === null) return null;
  const day = Math.floor(at / dayMs);
  if (day !== last.day)
    last = { day, text: new Date(day * dayMs).toISOString().slice(0, -"00:00:00.000Z".length) };
  const ms = Math.trunc(at - day * dayMs);
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor(ms / 60_000) % 60;
  const seconds = Math.floor(ms / 1_000) % 60;
  return `${last.text}${twoDigits[hours]}:${twoDigits[minutes]}:${twoDigits[seconds]}.${threeDigits[ms % 1_000]}+00:00`;
}

const dayMs = 86_400_000;

// A page of messages has fifty times, nearly all of a day or two: with the day kept, one takes a fifth of what
// `toISOString` does.
let last = { day: Number.NaN, text: "" };
const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, "0"));
const threeDigits = Array.from({ length: 1_000 }, (_, number) => String(number).padStart(3, "0"));
