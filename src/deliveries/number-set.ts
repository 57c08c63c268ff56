/** The largest range of a set; it takes a megabyte. */
export const numbersMax = 8 * 1024 * 1024;

/** A set of integers in a fixed range, one bit each. Numbers outside the range are ignored. */
export class NumberSet {
  readonly #first: number;
  readonly #bits: Uint8Array;

  /** The range is `first` to `last` inclusive, at most `numbersMax` numbers. */
  constructor(first: number, last: number) {
    this.#first = first;
    this.#bits = new Uint8Array(((last - first) >> 3) + 1);
  }

  add(number: number): void {
    const place = number - this.#first;
    const byte = this.#bits[place >> 3];
    if (place >= 0 && byte !== undefined) this.#bits[place >> 3] = byte | (1 << (place & 7));
  }

  has(number: number): boolean {
    const place = number - this.#first;
    return place >= 0 && ((this.#bits[place >> 3] ?? 0) & (1 << (place & 7))) !== 0;
  }
}
