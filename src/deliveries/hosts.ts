import { hostMost, teamMost } from "./places.ts";
import { Turns } from "./turns.ts";

/** A request to a host, by the team that makes it. */
export type HostRequest = { teamId: string; host: string };

/**
 * Limits the requests in flight to each host, counts them by team, and queues those that wait for a place. A host is a
 * name with a port, no matter whose subscriptions name it, because a single machine may receive the requests of any
 * number of them. As in a pool, no team can hold so many places that none is left for another.
 */
export class Hosts<Waiting extends HostRequest> {
  /** Hosts with requests in flight; nothing waits for any other. */
  readonly #hosts = new Map<string, { inFlight: number; turns: Turns<Waiting> }>();

  /** Whether the host has no place for another request of the team. */
  isFull({ host, teamId }: HostRequest): boolean {
    const found = this.#hosts.get(host);
    return found !== undefined && !mayHaveMore(found.turns.inFlight(teamId), found.inFlight);
  }

  /** Takes a place at the host. */
  begin({ host, teamId }: HostRequest): void {
    let found = this.#hosts.get(host);
    if (!found) {
      found = { inFlight: 0, turns: new Turns() };
      this.#hosts.set(host, found);
    }
    found.inFlight++;
    found.turns.begin(teamId);
  }

  /** Returns a place that `begin` took. */
  end({ host, teamId }: HostRequest): void {
    const found = this.#hosts.get(host);
    if (!found) return;
    found.inFlight--;
    found.turns.end(teamId);
    if (found.inFlight === 0 && found.turns.length === 0) this.#hosts.delete(host);
  }

  /** Queues for a place at the host, which must be full. */
  wait(waiting: Waiting): void {
    this.#hosts.get(waiting.host)?.turns.push(waiting);
  }

  /** Dequeues the next one that waits for the host; undefined while there is no place for it. */
  next(host: string): Waiting | undefined {
    const found = this.#hosts.get(host);
    const fewest = found?.turns.fewest;
    // If the team with the fewest requests may have no more, no other team may.
    return found && fewest !== undefined && mayHaveMore(fewest, found.inFlight)
      ? found.turns.shift()
      : undefined;
  }
}

function mayHaveMore(ofTeam: number, inFlight: number): boolean {
  return inFlight < hostMost && ofTeam < teamMost(hostMost, inFlight - ofTeam);
}

/**
 * Returns the key that requests to the URL are counted by: the host name, with the port unless it is the default one.
 */
export function hostOf(url: string): string {
  const parsed = URL.parse(url);
  // A fully qualified name with its final dot is the same host.
  return parsed ? `${parsed.hostname.replace(/\.$/, "")}:${parsed.port}` : url;
}
