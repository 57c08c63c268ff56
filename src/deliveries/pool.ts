import { Chain, type Link } from "./chain.ts";
import type { Caller, Hosts } from "./hosts.ts";
import { teamMost } from "./places.ts";
import { Turns } from "./turns.ts";

/** Where others wait for a place, an attempt under way gives its own back after so long, in milliseconds. */
const tenureMs = 100;

/** The lanes of one team to one host that are in a pool. Where the host is full they wait for it together. */
export type Line<Lane extends Caller> = Caller & {
  pool: Pool<Lane>;
  /** Those that wait for their turns. */
  waiting: Chain<Lane>;
  isAtHost: boolean;
  /** The lanes that ask for a share: those with work that do not wait for a time to come. */
  awake: Set<Lane>;
  /** Those of them that may have more than one attempt under way. */
  wide: Set<Lane>;
};

/** An attempt under way. */
export type UnderWay<Lane extends Caller> = {
  teamId: string;
  /** Whose place it takes up; one that goes on gives back the place that it began in. */
  pool: Pool<Lane>;
  /** By `performance.now()`. */
  beganAt: number;
  /** Its place among those that may give theirs back. */
  tenure?: Link<UnderWay<Lane>> | undefined;
};

/** How many lanes of a team ask for a share, those left out that wait for their host. */
type Asking = { awake: number; wide: number };

/**
 * How many attempts of receivers of one speed may be under way at once, how many of each team, and whose turn it is next.
 * A team never has so many that none is left for another.
 */
export class Pool<Lane extends Caller> {
  /** The lines in which lanes wait, but for those at their host. */
  readonly #turns = new Turns<Line<Lane>>();
  /** By team and host. */
  readonly #lines = new Map<string, Line<Lane>>();
  readonly #hosts: Hosts<Line<Lane>>;
  readonly #asking = new Map<string, Asking>();
  isServing = false;
  readonly #places: number;
  #underWay = 0;
  /** Those that have not been asked yet to give their place back, in the order in which they began. */
  readonly #tenures = new Chain<UnderWay<Lane>>();
  #timer: Timer | undefined;

  constructor(places: number, hosts: Hosts<Line<Lane>>) {
    this.#places = Math.max(1, places);
    this.#hosts = hosts;
  }

  /** Whether a lane waits for its turn, and not for its host. */
  get isAsked(): boolean {
    return this.#turns.length > 0;
  }

  /** Has the lane wait for its turn. */
  push(lane: Lane): void {
    const line = this.#lineOf(lane);
    if (!line.waiting.first && !line.isAtHost) this.#turns.push(line);
    line.waiting.push(lane);
  }

  /**
   * Takes out the lane whose turn it is. Undefined when none waits but for its host, or none of a team that may have
   * another place.
   */
  shift(): Lane | undefined {
    while (this.#canServe) {
      const line = this.#turns.shift();
      if (!line) break;
      if (!this.#hosts.isFull(line.host)) return this.#shiftOf(line);
      this.#count(line, -1);
      line.isAtHost = true;
      this.#hosts.wait(line);
    }
    return undefined;
  }

  /**
   * Ends the waiting of a line for its host. Takes out the lane whose turn it is, undefined where others come first in the
   * pool, for which the line then waits.
   */
  shiftFromHost(line: Line<Lane>): Lane | undefined {
    line.isAtHost = false;
    this.#count(line, 1);
    if (this.#isNext(line.teamId)) return this.#shiftOf(line);
    this.#turns.push(line);
    return undefined;
  }

  /**
   * Whether a lane that has some under way may have more: the second half of the places is for those that have none.
   */
  hasRoomForMore(teamId: string): boolean {
    return this.#turns.underWay(teamId) < this.#shared(teamId);
  }

  /** Has the lane ask for a share: of one place, or of what the wide ones of its team share out among them. */
  rouse(lane: Lane, isWide: boolean): void {
    this.#ask(this.#lineOf(lane), ({ awake, wide }) => {
      awake.add(lane);
      if (isWide) wide.add(lane);
      else wide.delete(lane);
    });
  }

  /** Has the lane ask for none. */
  rest(lane: Lane): void {
    const line = this.#lines.get(keyOf(lane));
    if (!line) return;
    this.#ask(line, ({ awake, wide }) => {
      awake.delete(lane);
      wide.delete(lane);
    });
    this.#forgetIfEmpty(line);
  }

  /** How many attempts a wide lane of the team may have under way, at least one and at most `most`: each the same. */
  share(teamId: string, most: number): number {
    const { awake, wide } = this.#asking.get(teamId) ?? { awake: 0, wide: 0 };
    const shared = this.#shared(teamId) - (awake - wide);
    return Math.max(1, Math.min(most, Math.floor(shared / Math.max(1, wide))));
  }

  /** Gives the attempt a place. */
  add(attempt: UnderWay<Lane>): void {
    attempt.pool = this;
    this.#underWay++;
    this.#turns.begin(attempt.teamId);
    attempt.tenure = this.#tenures.push(attempt);
  }

  /** Takes its place back. */
  remove(attempt: UnderWay<Lane>): void {
    this.#underWay--;
    this.#turns.end(attempt.teamId);
    this.#endTenure(attempt);
  }

  /**
   * Moves the attempts that have been under way for a tenth of a second to the pool of slow ones, as far as it has room: so
   * long does a lane wait for a place here at most. One whose team may have no more there stays to its end. Where none is
   * old enough yet, `later` is called when one is.
   */
  giveUpSlow(slow: Pool<Lane>, now: number, later: () => void): void {
    for (let first = this.#tenures.first; first && !slow.#isFull; first = this.#tenures.first) {
      const attempt = first.value;
      const leftMs = attempt.beganAt + tenureMs - now;
      if (leftMs > 0) {
        if (!this.#canServe) this.#wakeIn(leftMs, later);
        return;
      }
      if (slow.#mayHaveMore(slow.#turns.underWay(attempt.teamId))) {
        this.remove(attempt);
        slow.add(attempt);
      } else this.#endTenure(attempt);
    }
  }

  /** Forgets the call that `giveUpSlow` has promised. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  get #isFull(): boolean {
    return this.#underWay >= this.#places;
  }

  /** Whether the lane whose turn it is may begin. Where it may not, no other may: their teams have as many or more. */
  get #canServe(): boolean {
    const { fewest } = this.#turns;
    return fewest !== undefined && this.#mayHaveMore(fewest);
  }

  /** Whether the team comes next: it may have another place, and no other that waits has fewer. */
  #isNext(teamId: string): boolean {
    const underWay = this.#turns.underWay(teamId);
    return this.#mayHaveMore(underWay) && underWay <= (this.#turns.fewest ?? underWay);
  }

  #mayHaveMore(underWay: number): boolean {
    return !this.#isFull && underWay < teamMost(this.#places, this.#underWay - underWay);
  }

  /** How many of the first half of the places the team may have. */
  #shared(teamId: string): number {
    return teamMost(this.#places / 2, this.#underWay - this.#turns.underWay(teamId));
  }

  #lineOf(lane: Lane): Line<Lane> {
    const key = keyOf(lane);
    let line = this.#lines.get(key);
    if (!line) {
      const { teamId, host } = lane;
      line = {
        teamId,
        host,
        pool: this,
        waiting: new Chain(),
        isAtHost: false,
        awake: new Set(),
        wide: new Set(),
      };
      this.#lines.set(key, line);
    }
    return line;
  }

  /** Takes out the first of a line that is in no turns. The others wait for the next turn of their team. */
  #shiftOf(line: Line<Lane>): Lane | undefined {
    const lane = line.waiting.shift();
    if (line.waiting.first) this.#turns.push(line);
    else this.#forgetIfEmpty(line);
    return lane;
  }

  #forgetIfEmpty(line: Line<Lane>): void {
    if (!line.waiting.first && line.awake.size === 0) this.#lines.delete(keyOf(line));
  }

  #ask(line: Line<Lane>, change: (line: Line<Lane>) => void): void {
    this.#count(line, -1);
    change(line);
    this.#count(line, 1);
  }

  /** Adds the lanes of the line to those of their team that ask, or takes them off. */
  #count({ teamId, isAtHost, awake, wide }: Line<Lane>, by: 1 | -1): void {
    if (isAtHost) return;
    const asking = this.#asking.get(teamId) ?? { awake: 0, wide: 0 };
    asking.awake += by * awake.size;
    asking.wide += by * wide.size;
    if (asking.awake > 0) this.#asking.set(teamId, asking);
    else this.#asking.delete(teamId);
  }

  #endTenure(attempt: UnderWay<Lane>): void {
    if (attempt.tenure) this.#tenures.remove(attempt.tenure);
    attempt.tenure = undefined;
  }

  #wakeIn(ms: number, later: () => void): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      later();
    }, ms);
  }
}

function keyOf({ teamId, host }: Caller): string {
  return `${teamId} ${host}`;
}
