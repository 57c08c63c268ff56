/** Where others wait for a place, an attempt under way gives its own back after so long, in milliseconds. */
const tenureMs = 100;

/** An attempt under way. */
export type UnderWay<Lane> = {
  /** Whose place it takes up; one that goes on gives back the place that it began in. */
  pool: Pool<Lane>;
  /** By `performance.now()`. */
  beganAt: number;
};

/** How many attempts of receivers of one speed may be under way at once, and whose turn it is next. */
export class Pool<Lane> {
  /** The lanes that may have something due, in the order of their turns. */
  readonly turns: Lane[] = [];
  /** The lanes that ask for a share: those with work that do not wait for a time to come. */
  readonly #awake = new Set<Lane>();
  /** Those of them that may have more than one attempt under way. */
  readonly #wide = new Set<Lane>();
  isServing = false;
  readonly #places: number;
  /** In the order in which they began. */
  readonly #underWay = new Set<UnderWay<Lane>>();
  #timer: Timer | undefined;

  constructor(places: number) {
    this.#places = Math.max(1, places);
  }

  get isFull(): boolean {
    return this.#underWay.size >= this.#places;
  }

  /** Whether a lane that has some under way may have more: the second half of the places is for those that have none. */
  get hasRoomForMore(): boolean {
    return this.#underWay.size < this.#places / 2;
  }

  /** Has the lane ask for a share: of one place, or of what the wide ones share out among them. */
  rouse(lane: Lane, isWide: boolean): void {
    this.#awake.add(lane);
    if (isWide) this.#wide.add(lane);
    else this.#wide.delete(lane);
  }

  /** Has the lane ask for none. */
  rest(lane: Lane): void {
    this.#awake.delete(lane);
    this.#wide.delete(lane);
  }

  /** How many attempts a wide lane may have under way, at least one and at most `most`: each the same. */
  share(most: number): number {
    const shared = this.#places / 2 - (this.#awake.size - this.#wide.size);
    return Math.max(1, Math.min(most, Math.floor(shared / Math.max(1, this.#wide.size))));
  }

  add(attempt: UnderWay<Lane>): void {
    attempt.pool = this;
    this.#underWay.add(attempt);
  }

  remove(attempt: UnderWay<Lane>): void {
    this.#underWay.delete(attempt);
  }

  /**
   * Moves the attempts that have been under way for a tenth of a second to the pool of slow ones, as far as it has room: so
   * long does a lane wait for a place here at most. Where none is old enough yet, `later` is called when one is.
   */
  giveUpSlow(slow: Pool<Lane>, now: number, later: () => void): void {
    for (const attempt of this.#underWay) {
      if (slow.isFull) return;
      const leftMs = attempt.beganAt + tenureMs - now;
      if (leftMs > 0) {
        if (this.isFull) this.#wakeIn(leftMs, later);
        return;
      }
      this.remove(attempt);
      slow.add(attempt);
    }
  }

  /** Forgets the call that `giveUpSlow` has promised. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  #wakeIn(ms: number, later: () => void): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      later();
    }, ms);
  }
}
