/** A value's position in a list, by which it can be removed. */
export type ListNode<Value> = {
  value: Value;
  previous: ListNode<Value> | undefined;
  next: ListNode<Value> | undefined;
};

/**
 * A queue from which any value can be removed, at a constant cost. A `Set` does not offer that, because finding its
 * first value skips every deleted entry, and an array shifts all later values.
 */
export class LinkedList<Value> {
  #first: ListNode<Value> | undefined;
  #last: ListNode<Value> | undefined;

  get first(): ListNode<Value> | undefined {
    return this.#first;
  }

  /** Appends the value. */
  push(value: Value): ListNode<Value> {
    const node: ListNode<Value> = { value, previous: this.#last, next: undefined };
    if (this.#last) this.#last.next = node;
    else this.#first = node;
    this.#last = node;
    return node;
  }

  /** Removes a node, which must be in this list. */
  remove({ previous, next }: ListNode<Value>): void {
    if (previous) previous.next = next;
    else this.#first = next;
    if (next) next.previous = previous;
    else this.#last = previous;
  }

  /** Removes the first value and returns it; undefined when the list is empty. */
  shift(): Value | undefined {
    const first = this.#first;
    if (first) this.remove(first);
    return first?.value;
  }
}
