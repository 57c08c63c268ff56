const bars = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const;

/** Draws the values as one bar each, the largest as the highest; zero is a space, so that a pause can be seen. */
export function sparkline(values: readonly number[]): string {
  const largest = Math.max(...values, 1);
  return values
    .map((value) =>
      value <= 0 ? " " : bars[Math.min(bars.length, Math.ceil((value / largest) * bars.length)) - 1],
    )
    .join("");
}
