import type { WorkNotices } from "./notices.ts";

/** For so long a node is told of new events after it has asked, in milliseconds; longer than requests wait. */
const toldForMs = 120_000;

/** After this long it asks again, in milliseconds. */
const askAgainMs = 30_000;

/** The subscriptions whose events requests wait for: other nodes' commits are told to the node that has the request. */
export class Readers {
  readonly #node: string;
  readonly #notices: WorkNotices;
  /** Those that other nodes have asked for, and until when, by `performance.now()`. */
  readonly #told = new Map<string, number>();
  /** Those that this node has asked for, and when. */
  readonly #asked = new Map<string, number>();

  /** `node` is the id of this node. */
  constructor(node: string, notices: WorkNotices) {
    this.#node = node;
    this.#notices = notices;
  }

  /** Asks the other nodes to tell of new events of the subscription, for a while. */
  ask(subscriptionId: string): void {
    const now = performance.now();
    if ((this.#asked.get(subscriptionId) ?? -Infinity) > now - askAgainMs) return;
    for (const [id, at] of this.#asked) if (at < now - askAgainMs) this.#asked.delete(id);
    this.#asked.set(subscriptionId, now);
    this.#notices.sayReading(this.#node, subscriptionId);
  }

  /** The node has asked to be told of new events of the subscription. */
  add(node: string, subscriptionId: string): void {
    // This one's requests hear of its own commits anyway.
    if (node === this.#node) return;
    const now = performance.now();
    for (const [id, until] of this.#told) if (until < now) this.#told.delete(id);
    this.#told.set(subscriptionId, now + toldForMs);
  }

  /** Tells the nodes that have asked that these subscriptions have new events. */
  tell(subscriptionIds: Iterable<string>): void {
    if (this.#told.size === 0) return;
    const now = performance.now();
    this.#notices.say([...subscriptionIds].filter((id) => (this.#told.get(id) ?? 0) > now));
  }
}
