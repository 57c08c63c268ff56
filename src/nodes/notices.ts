import type { Connections } from "../database/postgres/connections.ts";

/** What nodes and commands tell each other: through one channel of the database, to all nodes that listen. */
const channel = "parley";

/** The maximum length of a notice. PostgreSQL takes 8,000 bytes; ids are ASCII. */
const lengthMax = 7_900;

/** What a node does with notices; those of its own arrive too. */
export type NoticeListener = {
  /** These subscriptions have work, or what else has a shard. */
  onWork: (keys: readonly string[]) => void;
  /** The node waits for events of this subscription, and is to be told of them. */
  onReading: (node: string, subscriptionId: string) => void;
  /** Anything may have work. Also called each time that notices may have been missed. */
  onAnyWork: () => void;
  /** Nodes have come or gone, or have given up shards. */
  onNodes: () => void;
};

/** Listens to notices until the connections are closed, or the returned function is called. */
export function listenToNotices(connections: Connections, listener: NoticeListener): () => void {
  const onPayload = (payload: string) => {
    const [subject, ...keys] = payload.split(" ");
    if (subject === "nodes") listener.onNodes();
    else if (subject === "work" && keys.length > 0) listener.onWork(keys);
    else if (subject === "reading") listener.onReading(keys[0] ?? "", keys[1] ?? "");
    else listener.onAnyWork();
  };
  const listening = connections.listen(channel, onPayload, () => {
    listener.onNodes();
    listener.onAnyWork();
  });
  return () => listening.close();
}

/**
 * Says that something has work, or that nodes have come, gone or given up shards.
 * @throws what `Connections.query` throws.
 */
export async function sayNow(
  connections: Pick<Connections, "query">,
  notice: "work" | "nodes",
): Promise<void> {
  await connections.query("SELECT pg_notify($1, $2)", [channel, notice]);
}

/** Says which subscriptions have work. What comes up while a notice is on its way shares the next one. */
export class WorkNotices {
  readonly #connections: Pick<Connections, "query">;
  readonly #onError: (error: unknown) => void;
  #waiting = new Set<string>();
  #isSending = false;

  constructor(connections: Pick<Connections, "query">, onError: (error: unknown) => void) {
    this.#connections = connections;
    this.#onError = onError;
  }

  /** Says it soon. One that is lost with its connection is made up for by the slow look of the owner. */
  say(keys: Iterable<string>): void {
    for (const key of keys) this.#waiting.add(key);
    if (this.#isSending || this.#waiting.size === 0) return;
    this.#isSending = true;
    void this.#send();
  }

  /** Says that the node waits for events of the subscription. */
  sayReading(node: string, subscriptionId: string): void {
    this.#connections
      .query("SELECT pg_notify($1, $2)", [channel, `reading ${node} ${subscriptionId}`])
      .catch(this.#onError);
  }

  async #send(): Promise<void> {
    while (this.#waiting.size > 0) {
      const notice = ["work", ...this.#waiting].join(" ");
      this.#waiting = new Set();
      try {
        await this.#connections.query("SELECT pg_notify($1, $2)", [
          channel,
          notice.length > lengthMax ? "work" : notice,
        ]);
      } catch (error) {
        this.#onError(error);
      }
    }
    this.#isSending = false;
  }
}
