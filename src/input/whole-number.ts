/** The number that the text is in decimal digits, 15 at most; undefined unless it is from `least` to `most`. */
export function parseWholeNumber(text: string, least: number, most: number): number | undefined {
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : undefined;
}
