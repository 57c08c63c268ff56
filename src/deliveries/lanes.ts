/** How many attempts run at once, over all subscriptions. */
const concurrencyMax = 200;

/** How many of them one subscription can have, while no others ask for their share. */
const laneConcurrencyMax = 20;

/** The longest that a timer can be set for; a lane that is due later looks again then. */
const timerMaxMs = 2 ** 31 - 1;

type Job = { seq: number; dueAt: number };

type Lane = {
  subscriptionId: string;
  inFlight: Set<number>;
  /** Jobs that are due, fetched ahead in the order of the queue. */
  ready: number[];
  isWaiting: boolean;
  timer: Timer | undefined;
};

export type Queue = {
  /** The subscription's jobs in the order in which they are due, those under way included. */
  nextJobs(subscriptionId: string, limit: number): Promise<Job[]>;
  /** One attempt at the job, settled; resolves to a pause for the subscription in milliseconds. Never rejects. */
  work(seq: number): Promise<number>;
};

/**
 * One lane for each subscription that has work, served in turn. A lane's share of the concurrency shrinks as more lanes
 * ask, so an endpoint that hangs fills its own lane and delays nobody else.
 */
export class Lanes {
  readonly #queue: Queue;
  readonly #lanes = new Map<string, Lane>();
  /** The lanes that may have something due, in the order of their turns. */
  readonly #turns: Lane[] = [];
  /** The lanes that wait for a time to come; they ask for no share. */
  readonly #asleep = new Set<Lane>();
  readonly #underWay = new Set<Promise<void>>();
  #isServing = false;
  #isStopped = false;

  constructor(queue: Queue) {
    this.#queue = queue;
  }

  /** Looks for work in these subscriptions' lanes. */
  wake(subscriptionIds: Iterable<string>): void {
    for (const id of subscriptionIds) {
      const lane = this.#lanes.get(id) ?? this.#open(id);
      this.#line(lane);
    }
    this.#serve();
  }

  /** Begins nothing new and waits for what is under way, for `waitMs` at most. */
  async stop(waitMs: number): Promise<void> {
    this.#isStopped = true;
    for (const lane of this.#lanes.values()) clearTimeout(lane.timer);
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMs);
    await Promise.race([Promise.all(this.#underWay), promise]);
    clearTimeout(timer);
  }

  #open(subscriptionId: string): Lane {
    const lane: Lane = { subscriptionId, inFlight: new Set(), ready: [], isWaiting: false, timer: undefined };
    this.#lanes.set(subscriptionId, lane);
    return lane;
  }

  #line(lane: Lane): void {
    this.#rouse(lane);
    if (lane.isWaiting) return;
    lane.isWaiting = true;
    this.#turns.push(lane);
  }

  #serve(): void {
    if (this.#isServing || this.#isStopped) return;
    this.#isServing = true;
    void this.#serveTurns();
  }

  // Never concurrent with itself: each lane that has its turn begins one attempt and lines up again.
  async #serveTurns(): Promise<void> {
    while (!this.#isStopped && this.#underWay.size < concurrencyMax) {
      const lane = this.#turns.shift();
      if (!lane) break;
      lane.isWaiting = false;
      if (lane.inFlight.size >= this.#share()) continue;
      const seq = await this.#nextOf(lane);
      if (seq === undefined) continue;
      this.#begin(lane, seq);
      this.#line(lane);
    }
    this.#isServing = false;
  }

  /** How many attempts each lane may have under way: all the same, and at least one. */
  #share(): number {
    return Math.max(1, Math.min(laneConcurrencyMax, Math.floor(concurrencyMax / this.#awake())));
  }

  #awake(): number {
    return Math.max(1, this.#lanes.size - this.#asleep.size);
  }

  async #nextOf(lane: Lane): Promise<number | undefined> {
    const ready = lane.ready.shift();
    if (ready !== undefined) return ready;
    // Those under way are still at the front of the queue, so as many more are asked for.
    const next = await this.#queue.nextJobs(lane.subscriptionId, lane.inFlight.size + laneConcurrencyMax);
    const free = next.filter(({ seq }) => !lane.inFlight.has(seq));
    const now = Date.now();
    lane.ready = free.filter(({ dueAt }) => dueAt <= now).map(({ seq }) => seq);
    const due = lane.ready.shift();
    if (due === undefined) this.#rest(lane, free[0]);
    return due;
  }

  /** Nothing is due: the lane sleeps until its next job is, or closes when there is none. */
  #rest(lane: Lane, next: Job | undefined): void {
    if (next) this.#sleep(lane, next.dueAt - Date.now());
    else if (lane.inFlight.size === 0) this.#close(lane);
  }

  #sleep(lane: Lane, ms: number): void {
    clearTimeout(lane.timer);
    this.#asleep.add(lane);
    lane.timer = setTimeout(() => this.wake([lane.subscriptionId]), Math.min(Math.max(ms, 1), timerMaxMs));
  }

  #begin(lane: Lane, seq: number): void {
    lane.inFlight.add(seq);
    const work = this.#queue.work(seq).then((pauseMs) => {
      lane.inFlight.delete(seq);
      this.#underWay.delete(work);
      this.#afterwards(lane, pauseMs);
    });
    this.#underWay.add(work);
  }

  #afterwards(lane: Lane, pauseMs: number): void {
    if (this.#isStopped) return;
    if (pauseMs === Infinity) {
      // Disabled or deleted: what it had fetched ahead is left where it is, until somebody wakes it.
      lane.ready = [];
      if (lane.inFlight.size === 0) this.#close(lane);
    } else if (pauseMs > 0) {
      lane.ready = [];
      this.#sleep(lane, pauseMs);
    } else {
      this.#line(lane);
    }
    this.#serve();
  }

  #rouse(lane: Lane): void {
    clearTimeout(lane.timer);
    lane.timer = undefined;
    this.#asleep.delete(lane);
  }

  #close(lane: Lane): void {
    this.#rouse(lane);
    if (!lane.isWaiting) this.#lanes.delete(lane.subscriptionId);
  }
}
