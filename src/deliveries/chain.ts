/** A value's place in a chain. */
export type Link<Value> = { value: Value; before: Link<Value> | undefined; after: Link<Value> | undefined };

/**
 * Values in the order in which they came. Each step costs the same, however many there are: a `Set` passes over all that
 * have left it on the way to its first, and an array moves all others up.
 */
export class Chain<Value> {
  #first: Link<Value> | undefined;
  #last: Link<Value> | undefined;

  get first(): Link<Value> | undefined {
    return this.#first;
  }

  /** Adds the value behind all others. */
  push(value: Value): Link<Value> {
    const link: Link<Value> = { value, before: this.#last, after: undefined };
    if (this.#last) this.#last.after = link;
    else this.#first = link;
    this.#last = link;
    return link;
  }

  /** Takes out one that is in this chain. */
  remove({ before, after }: Link<Value>): void {
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
  }

  /** Takes out the first. */
  shift(): Value | undefined {
    const first = this.#first;
    if (first) this.remove(first);
    return first?.value;
  }
}
