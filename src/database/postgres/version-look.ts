import type { Connections } from "./connections.ts";
import { retried } from "./retries.ts";

const stampQuery = "SELECT stamp FROM workspace_stamp WHERE id = 1";

/**
 * The version of cacheable data, which any node may change. It is looked up once for all that ask in one turn of the event
 * loop: a request is handled in a later turn than the one in which it was sent, so it sees what was committed before.
 */
export class VersionLook {
  readonly #connections: Connections;
  #ofThisTurn: Promise<string> | undefined;
  /** The version that was seen last, by a look or a commit. */
  latest: string | undefined;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  look(): Promise<string> {
    if (!this.#ofThisTurn) {
      this.#ofThisTurn = this.#ask();
      setImmediate(() => (this.#ofThisTurn = undefined));
    }
    return this.#ofThisTurn;
  }

  async #ask(): Promise<string> {
    const { rows } = await retried(this.#connections, stampQuery);
    this.latest = String((rows[0] as [string] | undefined)?.[0]);
    return this.latest;
  }
}
