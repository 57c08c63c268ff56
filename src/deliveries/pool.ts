import { LinkedList, type ListNode } from "./linked-list.ts";
import { teamMost } from "./places.ts";
import { Turns } from "./turns.ts";

/** While others wait for a place, an attempt keeps its own for this long at most, in milliseconds. */
const tenureMs = 100;

/** An attempt in flight. */
export type InFlight<Lane extends { teamId: string }> = {
  teamId: string;
  /** Where it goes, as `hostOf` returns it. */
  host: string;
  /** The pool whose place it holds. This may change while it runs, but it has one place throughout. */
  pool: Pool<Lane>;
  /** By `performance.now()`. */
  beganAt: number;
  /** Its node in the pool's list of attempts by age. */
  tenure?: ListNode<InFlight<Lane>> | undefined;
};

/** The lanes of a team that claim a share: those with work that wait neither for a due time nor for their host. */
type Demand<Lane> = {
  awake: Set<Lane>;
  /** Those of them that may have more than one attempt in flight. */
  wide: Set<Lane>;
};

/**
 * Limits the attempts in flight to receivers of one speed, in total and for each team, and decides whose turn is next.
 * No team can hold so many places that none is left for another.
 */
export class Pool<Lane extends { teamId: string }> {
  readonly #turns = new Turns<Lane>();
  readonly #demand = new Map<string, Demand<Lane>>();
  isServing = false;
  /** When the loop that serves it last went round, by `performance.now()`. */
  turnedAt = 0;
  readonly #places: number;
  #inFlight = 0;
  /** Attempts by the time they joined this pool, oldest first. */
  readonly #tenures = new LinkedList<InFlight<Lane>>();
  #timer: Timer | undefined;

  constructor(places: number) {
    this.#places = Math.max(1, places);
  }

  /** Whether any lane waits for its turn. */
  get hasWaiting(): boolean {
    return this.#turns.length > 0;
  }

  /** Enqueues the lane for its turn. Returns the node to pass to `leave`. */
  push(lane: Lane): ListNode<Lane> {
    return this.#turns.push(lane);
  }

  /** Removes a lane that waits for its turn. */
  leave(turn: ListNode<Lane>): void {
    this.#turns.remove(turn);
  }

  /** Dequeues the lane whose turn it is; undefined when no waiting team may have another place. */
  shift(): Lane | undefined {
    this.turnedAt = performance.now();
    return this.#canServe ? this.#turns.shift() : undefined;
  }

  /** Whether the team goes next: it may have another place, and no waiting team has fewer. */
  isNext(teamId: string): boolean {
    const inFlight = this.#turns.inFlight(teamId);
    return this.#mayHaveMore(inFlight) && inFlight <= (this.#turns.fewest ?? inFlight);
  }

  /**
   * Whether a lane of the team with attempts in flight may have more: half of the places are reserved for lanes that
   * have none.
   */
  hasRoomForMore(teamId: string): boolean {
    return this.#turns.inFlight(teamId) < this.#shared(teamId);
  }

  /**
   * Claims a share for the lane: one place or, if it is wide, an equal part of what its team has for its wide lanes.
   */
  wake(lane: Lane, isWide: boolean): void {
    let demand = this.#demand.get(lane.teamId);
    if (!demand) {
      demand = { awake: new Set(), wide: new Set() };
      this.#demand.set(lane.teamId, demand);
    }
    demand.awake.add(lane);
    if (isWide) demand.wide.add(lane);
    else demand.wide.delete(lane);
  }

  /** Withdraws the lane's claim. */
  rest(lane: Lane): void {
    const demand = this.#demand.get(lane.teamId);
    if (!demand) return;
    demand.awake.delete(lane);
    demand.wide.delete(lane);
    if (demand.awake.size === 0) this.#demand.delete(lane.teamId);
  }

  /** Returns how many attempts each wide lane of the team may have in flight, from one to `most`. */
  share(teamId: string, most: number): number {
    const demand = this.#demand.get(teamId);
    const [awake, wide] = demand ? [demand.awake.size, demand.wide.size] : [0, 0];
    const shared = this.#shared(teamId) - (awake - wide);
    return Math.max(1, Math.min(most, Math.floor(shared / Math.max(1, wide))));
  }

  /** Gives the attempt a place in this pool. */
  add(attempt: InFlight<Lane>): void {
    attempt.pool = this;
    this.#inFlight++;
    this.#turns.begin(attempt.teamId);
    attempt.tenure = this.#tenures.push(attempt);
  }

  /** Takes the attempt's place back. */
  remove(attempt: InFlight<Lane>): void {
    this.#inFlight--;
    this.#turns.end(attempt.teamId);
    if (attempt.tenure) this.#tenures.remove(attempt.tenure);
    attempt.tenure = undefined;
  }

  /**
   * Moves attempts that have been in flight for `tenureMs` to the slow pool while that has room, which bounds how long
   * a lane waits for a place here. An attempt whose team may have no more places there stays until the next call.
   * `later` is called when the next attempt is old enough. `now` is `performance.now()`.
   */
  demoteSlow(slow: Pool<Lane>, now: number, later: () => void): void {
    let next: ListNode<InFlight<Lane>> | undefined;
    for (let node = this.#tenures.first; node && !slow.#isFull; node = next) {
      next = node.next;
      const attempt = node.value;
      const leftMs = attempt.beganAt + tenureMs - now;
      if (leftMs > 0) return this.#wakeIn(leftMs, later);
      if (!slow.#mayHaveMore(slow.#turns.inFlight(attempt.teamId))) continue;
      this.remove(attempt);
      slow.add(attempt);
    }
  }

  /** Cancels the pending call of `later`. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  get #isFull(): boolean {
    return this.#inFlight >= this.#places;
  }

  /** Whether the lane whose turn it is may begin. If not, no other lane may: their teams have as many or more. */
  get #canServe(): boolean {
    const { fewest } = this.#turns;
    return fewest !== undefined && this.#mayHaveMore(fewest);
  }

  #mayHaveMore(inFlight: number): boolean {
    return !this.#isFull && inFlight < teamMost(this.#places, this.#inFlight - inFlight);
  }

  /** How many of the unreserved half of the places the team may have: what others leave, but at least an equal part. */
  #shared(teamId: string): number {
    const half = this.#places / 2;
    const left = teamMost(half, this.#inFlight - this.#turns.inFlight(teamId));
    return Math.max(left, Math.floor(teamMost(half, 0) / Math.max(1, this.#demand.size)));
  }

  #wakeIn(ms: number, later: () => void): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      later();
    }, ms);
  }
}
