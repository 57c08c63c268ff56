import { hostMost, teamMost } from "./places.ts";
import { Turns } from "./turns.ts";

/** Who has a request for a host. */
export type Caller = { teamId: string; host: string };

/**
 * How many requests are under way to each host, how many of each team, and who waits for one of its places. One machine may
 * have to take the requests of any number of subscriptions, so a host is a name with its port, whosever the subscriptions
 * are. As in a pool, a team never has so many that none is left for another.
 */
export class Hosts<Waiting extends Caller> {
  /** Those with something under way; nobody waits for any other. */
  readonly #hosts = new Map<string, { underWay: number; turns: Turns<Waiting> }>();

  /** Whether there is no place for another request of the team. */
  isFull({ host, teamId }: Caller): boolean {
    const taken = this.#hosts.get(host);
    return taken !== undefined && !mayHaveMore(taken.turns.inFlight(teamId), taken.underWay);
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

  /** Has it wait for a place at its host, where there is none for it. */
  wait(waiting: Waiting): void {
    this.#hosts.get(waiting.host)?.turns.push(waiting);
  }

  /** Takes out the one that waits for the host and whose turn it is; undefined while there is no place for it. */
  next(host: string): Waiting | undefined {
    const taken = this.#hosts.get(host);
    const fewest = taken?.turns.fewest;
    // Where the team with the fewest may have no more, no other may.
    return taken && fewest !== undefined && mayHaveMore(fewest, taken.underWay)
      ? taken.turns.shift()
      : undefined;
  }
}

function mayHaveMore(ofTeam: number, underWay: number): boolean {
  return underWay < hostMost && ofTeam < teamMost(hostMost, underWay - ofTeam);
}

/** What requests to the URL are counted under: the name of its host, and the port where it is not the usual one. */
export function hostOf(url: string): string {
  const parsed = URL.parse(url);
  // The dot behind a complete name makes no other host of it.
  return parsed ? `${parsed.hostname.replace(/\.$/, "")}:${parsed.port}` : url;
}
