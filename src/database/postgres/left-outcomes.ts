/** A call that settles attempts of these subscriptions, and how its caller learns what came of it. */
type Settling = {
  settles: readonly string[];
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
};

/**
 * The subscriptions of which attempts are being settled by statements. The outcomes of a subscription are settled in the
 * order in which they came, so its later ones follow the same way until those are done.
 */
export class LeftOutcomes {
  /** How many calls are not done, by subscription. */
  readonly #calls = new Map<string, number>();

  has(subscriptionId: string): boolean {
    return this.#calls.has(subscriptionId);
  }

  /** Returns the call, which is counted from now on until it is done. */
  counting<Call extends Settling>(call: Call): Call {
    if (call.settles.length === 0) return call;
    for (const id of call.settles) this.#calls.set(id, (this.#calls.get(id) ?? 0) + 1);
    const done = () => {
      for (const id of call.settles) {
        const left = (this.#calls.get(id) ?? 0) - 1;
        if (left > 0) this.#calls.set(id, left);
        else this.#calls.delete(id);
      }
    };
    return {
      ...call,
      resolve(value) {
        done();
        call.resolve(value);
      },
      reject(error) {
        done();
        call.reject(error);
      },
    };
  }
}
