/** Why time passed between an event and the end of its delivery. */
export type Cause =
  | "attempt"
  | "fan_out"
  | "turn"
  | "pace"
  | "backoff"
  | "disabled"
  | "held"
  | "withheld"
  | "unknown";

/** A part of a delivery's time, in milliseconds since 1970, with its cause in a few words. */
export type Span = { from: number; to: number; cause: Cause; what: string };

/**
 * Divides the time between two moments among its causes, without gaps: where several spans cover a moment the first of
 * them counts, and where none does `otherwise`. A span without a duration is a part too. The durations of the parts add
 * up to the whole.
 */
export function timelineOf(
  { from, to }: { from: number; to: number },
  spans: readonly Span[],
  otherwise: Pick<Span, "cause" | "what">,
): Span[] {
  const within = (at: number) => at > from && at < to;
  const edges = new Set([from, ...spans.flatMap((span) => [span.from, span.to]).filter(within), to]);
  const moments = [...edges].sort((a, b) => a - b);
  const parts: Array<Span & { source: object }> = [];
  for (const [index, begin] of moments.entries()) {
    const points = spans.filter((span) => span.from === begin && span.to === begin);
    parts.push(...points.map((point) => ({ ...point, source: point })));
    const end = moments[index + 1];
    if (end === undefined) break;
    const source = spans.find((span) => span.from <= begin && span.to >= end) ?? otherwise;
    const last = parts.at(-1);
    if (last?.source === source) last.to = end;
    else parts.push({ from: begin, to: end, cause: source.cause, what: source.what, source });
  }
  return parts.map(({ from, to, cause, what }) => ({ from, to, cause, what }));
}
