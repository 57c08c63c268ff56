/** So many numbers in a row fit into a set: a megabyte. */
export const numbersMax = 8 * 1024 * 1024;

/** A set of whole numbers from `first` on, one bit for each. Numbers outside of its range are not taken. */
export class NumberSet {
  readonly #first: number;
  readonly #bits: Uint8Array;

  /** For the numbers from `first` to `last`, at most `numbersMax`. */
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
