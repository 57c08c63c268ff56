import type { Connections } from "./connections.ts";
import { retried } from "./retries.ts";

/** Selects the version of cacheable data. */
export const stampQuery = "SELECT stamp FROM workspace_stamp WHERE id = 1";

/** Runs a statement that returns the version too, and resolves to that; to undefined when the statement failed. */
type Carrier = () => Promise<string | undefined>;

/**
 * The version of cacheable data, which any node may change. It is looked up once for all that ask in one turn of the event
 * loop: a request is handled in a later turn than the one in which it was sent, so it sees what was committed before.
 */
export class VersionLook {
  readonly #connections: Connections;
  #ofThisTurn: Promise<string> | undefined;
  #carrier: Carrier | undefined;
  /** The version that was seen last, by a look or a commit. */
  latest: string | undefined;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  look(): Promise<string> {
    this.#ofThisTurn ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        const carrier = this.#carrier;
        this.#carrier = undefined;
        this.#ofThisTurn = undefined;
        this.#ask(carrier).then(resolve, reject);
      });
    });
    return this.#ofThisTurn;
  }

  /**
   * Runs the statement at the end of this turn. If somebody looks in this turn and no other statement tells the version,
   * this one does, which saves a round trip.
   */
  carry(carrier: Carrier): void {
    if (this.#ofThisTurn && !this.#carrier) this.#carrier = carrier;
    else setImmediate(() => void carrier());
  }

  async #ask(carrier: Carrier | undefined): Promise<string> {
    const carried = await carrier?.();
    if (carried === undefined) {
      const { rows } = await retried(this.#connections, stampQuery);
      this.latest = String((rows[0] as [string] | undefined)?.[0]);
    } else this.latest = carried;
    return this.latest;
  }
}
