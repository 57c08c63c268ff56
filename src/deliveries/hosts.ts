import { hostMost } from "./places.ts";
import { Turns } from "./turns.ts";

/** Who has a request for a host. */
export type Caller = { teamId: string; host: string };

/**
 * How many requests are under way to each host, and who waits for one of its places. One machine may have to take the
 * requests of any number of subscriptions, so a host is a name with its port, whosever the subscriptions are.
 */
export class Hosts<Waiting extends Caller> {
  /** Those with something under way; nobody waits for any other. */
  readonly #hosts = new Map<string, { underWay: number; turns: Turns<Waiting> }>();

  isFull(host: string): boolean {
    return (this.#hosts.get(host)?.underWay ?? 0) >= hostMost;
  }

  /** Takes up a place at the host. */
  begin({ host, teamId }: Caller): void {
    let taken = this.#hosts.get(host);
    if (!taken) {
      taken = { underWay: 0, turns: new Turns() };
      this.#hosts.set(host, taken);
    }
    taken.underWay++;
    taken.turns.begin(teamId);
  }

  /** Gives one back. */
  end({ host, teamId }: Caller): void {
    const taken = this.#hosts.get(host);
    if (!taken) return;
    taken.underWay--;
    taken.turns.end(teamId);
    if (taken.underWay === 0 && taken.turns.length === 0) this.#hosts.delete(host);
  }

  /** Has it wait for a place at its host, which is full. */
  wait(waiting: Waiting): void {
    this.#hosts.get(waiting.host)?.turns.push(waiting);
  }

  /** Takes out the one that waits for the host and whose turn it is; undefined while the host is full. */
  next(host: string): Waiting | undefined {
    const taken = this.#hosts.get(host);
    return taken && taken.underWay < hostMost ? taken.turns.shift() : undefined;
  }
}

/** What requests to the URL are counted under: the name of its host, and the port where it is not the usual one. */
export function hostOf(url: string): string {
  const parsed = URL.parse(url);
  // The dot behind a complete name makes no other host of it.
  return parsed ? `${parsed.hostname.replace(/\.$/, "")}:${parsed.port}` : url;
}
