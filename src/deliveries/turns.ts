import { LinkedList, type ListNode } from "./linked-list.ts";

/** A team with anything waiting or in flight. */
type Team<Waiting> = {
  id: string;
  inFlight: number;
  /** In the order of their turns. */
  waiting: LinkedList<Waiting>;
  /** Its node among the teams with equally many in flight; undefined while nothing of it waits. */
  place: ListNode<Team<Waiting>> | undefined;
};

/**
 * A fair queue for places. The team with the fewest in flight goes first; teams with equally many alternate, and so do
 * the entries within a team. A team that asks for a thousand places therefore gets no more than one that asks for just
 * its share. A turn costs the same however many teams and entries wait.
 */
export class Turns<Waiting extends { teamId: string }> {
  readonly #teams = new Map<string, Team<Waiting>>();
  /** The teams with anything waiting, indexed by how many each has in flight. */
  readonly #levels: LinkedList<Team<Waiting>>[] = [];
  /** No team with anything waiting has fewer in flight. */
  #lowest = 0;
  #waiting = 0;

  /** How many entries wait, over all teams. */
  get length(): number {
    return this.#waiting;
  }

  /** How many the team has in flight. */
  inFlight(teamId: string): number {
    return this.#teams.get(teamId)?.inFlight ?? 0;
  }

  /** How many the team whose turn it is has in flight; undefined when nothing waits. */
  get fewest(): number | undefined {
    return this.#next()?.inFlight;
  }

  /** Enqueues behind the team's other entries. Returns the node to pass to `remove`. */
  push(waiting: Waiting): ListNode<Waiting> {
    const team = this.#team(waiting.teamId);
    const node = team.waiting.push(waiting);
    this.#waiting++;
    if (!team.place) this.#place(team);
    return node;
  }

  /** Removes an entry, which must be waiting here. */
  remove(node: ListNode<Waiting>): void {
    const team = this.#team(node.value.teamId);
    team.waiting.remove(node);
    this.#waiting--;
    if (team.waiting.first) return;
    this.#leave(team);
    this.#place(team);
  }

  /** Dequeues the entry whose turn it is. Its team moves behind the others with equally many in flight. */
  shift(): Waiting | undefined {
    const team = this.#next();
    if (!team) return undefined;
    const waiting = team.waiting.shift();
    this.#waiting--;
    this.#leave(team);
    this.#place(team);
    return waiting;
  }

  /** Counts one more in flight for the team. */
  begin(teamId: string): void {
    this.#count(this.#team(teamId), 1);
  }

  /** Counts one less. */
  end(teamId: string): void {
    this.#count(this.#team(teamId), -1);
  }

  #team(id: string): Team<Waiting> {
    let team = this.#teams.get(id);
    if (!team) {
      team = { id, inFlight: 0, waiting: new LinkedList(), place: undefined };
      this.#teams.set(id, team);
    }
    return team;
  }

  #next(): Team<Waiting> | undefined {
    if (this.#waiting === 0) return undefined;
    while (!this.#levels[this.#lowest]?.first) this.#lowest++;
    return this.#levels[this.#lowest]?.first?.value;
  }

  #count(team: Team<Waiting>, change: 1 | -1): void {
    this.#leave(team);
    team.inFlight += change;
    this.#place(team);
  }

  #leave(team: Team<Waiting>): void {
    if (team.place) this.#levels[team.inFlight]?.remove(team.place);
    team.place = undefined;
  }

  /** Places the team behind those with equally many in flight, or drops it once it has nothing waiting or in flight. */
  #place(team: Team<Waiting>): void {
    if (team.waiting.first) {
      this.#lowest = Math.min(this.#lowest, team.inFlight);
      team.place = (this.#levels[team.inFlight] ??= new LinkedList()).push(team);
    } else if (team.inFlight === 0) this.#teams.delete(team.id);
  }
}
