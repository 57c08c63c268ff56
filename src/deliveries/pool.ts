import { Chain, type Link } from "./chain.ts";
import { teamMost } from "./places.ts";
import { Turns } from "./turns.ts";

/** Where others wait for a place, an attempt under way gives its own back after so long, in milliseconds. */
const tenureMs = 100;

/** An attempt under way. */
export type InFlight<Lane extends { teamId: string }> = {
  teamId: string;
  /** Whose place it takes up; one that goes on gives back the place that it began in. */
  pool: Pool<Lane>;
  /** By `performance.now()`. */
  beganAt: number;
  /** Its place among those that may give theirs back. */
  tenure?: Link<InFlight<Lane>> | undefined;
};

/** The lanes of a team that ask for a share: those with work that wait neither for a time to come nor for their host. */
type Asking<Lane> = {
  awake: Set<Lane>;
  /** Those of them that may have more than one attempt under way. */
  wide: Set<Lane>;
};

/**
 * How many attempts of receivers of one speed may be under way at once, how many of each team, and whose turn it is next.
 * A team never has so many that none is left for another.
 */
export class Pool<Lane extends { teamId: string }> {
  readonly #turns = new Turns<Lane>();
  readonly #asking = new Map<string, Asking<Lane>>();
  isServing = false;
  readonly #places: number;
  #inFlight = 0;
  /** In the order in which they began. */
  readonly #tenures = new Chain<InFlight<Lane>>();
  #timer: Timer | undefined;

  constructor(places: number) {
    this.#places = Math.max(1, places);
  }

  /** Whether a lane waits for its turn. */
  get isAsked(): boolean {
    return this.#turns.length > 0;
  }

  /** Has the lane wait for its turn. Returns its place, by which `leave` takes it out. */
  push(lane: Lane): Link<Lane> {
    return this.#turns.push(lane);
  }

  /** Takes out a lane that waits for its turn. */
  leave(turn: Link<Lane>): void {
    this.#turns.remove(turn);
  }

  /** Takes out the lane whose turn it is. Undefined when none waits of a team that may have another place. */
  shift(): Lane | undefined {
    return this.#canServe ? this.#turns.shift() : undefined;
  }

  /** Whether the team comes next: it may have another place, and no other that waits has fewer. */
  isNext(teamId: string): boolean {
    const underWay = this.#turns.inFlight(teamId);
    return this.#mayHaveMore(underWay) && underWay <= (this.#turns.fewest ?? underWay);
  }

  /**
   * Whether a lane that has some under way may have more: the second half of the places is for those that have none.
   */
  hasRoomForMore(teamId: string): boolean {
    return this.#turns.inFlight(teamId) < this.#shared(teamId);
  }

  /** Has the lane ask for a share: of one place, or of what the wide ones of its team share out among them. */
  wake(lane: Lane, isWide: boolean): void {
    let asking = this.#asking.get(lane.teamId);
    if (!asking) {
      asking = { awake: new Set(), wide: new Set() };
      this.#asking.set(lane.teamId, asking);
    }
    asking.awake.add(lane);
    if (isWide) asking.wide.add(lane);
    else asking.wide.delete(lane);
  }

  /** Has the lane ask for none. */
  rest(lane: Lane): void {
    const asking = this.#asking.get(lane.teamId);
    if (!asking) return;
    asking.awake.delete(lane);
    asking.wide.delete(lane);
    if (asking.awake.size === 0) this.#asking.delete(lane.teamId);
  }

  /** How many attempts a wide lane of the team may have under way, at least one and at most `most`: each the same. */
  share(teamId: string, most: number): number {
    const asking = this.#asking.get(teamId);
    const [awake, wide] = asking ? [asking.awake.size, asking.wide.size] : [0, 0];
    const shared = this.#shared(teamId) - (awake - wide);
    return Math.max(1, Math.min(most, Math.floor(shared / Math.max(1, wide))));
  }

  /** Gives the attempt a place. */
  add(attempt: InFlight<Lane>): void {
    attempt.pool = this;
    this.#inFlight++;
    this.#turns.begin(attempt.teamId);
    attempt.tenure = this.#tenures.push(attempt);
  }

  /** Takes its place back. */
  remove(attempt: InFlight<Lane>): void {
    this.#inFlight--;
    this.#turns.end(attempt.teamId);
    if (attempt.tenure) this.#tenures.remove(attempt.tenure);
    attempt.tenure = undefined;
  }

  /**
   * Moves the attempts that have been under way for a tenth of a second to the pool of slow ones, as far as it has room: so
   * long does a lane wait for a place here at most. One whose team may have no more there stays, and is asked again the
   * next time. `later` is called when the next attempt is old enough.
   */
  giveUpSlow(slow: Pool<Lane>, now: number, later: () => void): void {
    let after: Link<InFlight<Lane>> | undefined;
    for (let link = this.#tenures.first; link && !slow.#isFull; link = after) {
      after = link.after;
      const attempt = link.value;
      const leftMs = attempt.beganAt + tenureMs - now;
      if (leftMs > 0) return this.#wakeIn(leftMs, later);
      if (!slow.#mayHaveMore(slow.#turns.inFlight(attempt.teamId))) continue;
      this.remove(attempt);
      slow.add(attempt);
    }
  }

  /** Forgets the call that `giveUpSlow` has promised. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  get #isFull(): boolean {
    return this.#inFlight >= this.#places;
  }

  /** Whether the lane whose turn it is may begin. Where it may not, no other may: their teams have as many or more. */
  get #canServe(): boolean {
    const { fewest } = this.#turns;
    return fewest !== undefined && this.#mayHaveMore(fewest);
  }

  #mayHaveMore(underWay: number): boolean {
    return !this.#isFull && underWay < teamMost(this.#places, this.#inFlight - underWay);
  }

  /** How many of the first half of the places the team may have: what others leave, and no less than each that asks. */
  #shared(teamId: string): number {
    const half = this.#places / 2;
    const left = teamMost(half, this.#inFlight - this.#turns.inFlight(teamId));
    return Math.max(left, Math.floor(teamMost(half, 0) / Math.max(1, this.#asking.size)));
  }

  #wakeIn(ms: number, later: () => void): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      later();
    }, ms);
  }
}
