import type { Log } from "../log.ts";

/**
 * How many attempts run at once, over all subscriptions. With the reserve it stays below 256: so many requests Bun has
 * under way in one process, and those beyond would wait while their time runs.
 */
export const concurrencyMax = 120;

/** How many of them one subscription can have, while no others ask for their share. */
const laneConcurrencyMax = 20;

/** So many more may run, each the only one of its subscription: endpoints that all hang at once leave these free. */
const reserve = 120;

/** How long a lane is left alone after a fault of our own, an unreadable file for one, in milliseconds. */
const faultPauseMs = 1_000;

/** The longest that a timer can be set for; a lane that is due later looks again then. */
const timerMaxMs = 2 ** 31 - 1;

/** One event for one subscription, under the number of the event. */
type Job = { eventSeq: number; dueAt: number };

type Lane = {
  subscriptionId: string;
  /** The numbers of the events under way. */
  inFlight: Set<number>;
  /** Jobs that are due, fetched ahead in the order of the queue. */
  ready: Job[];
  isWaiting: boolean;
  /** After a fault: until its timer ends this, nothing wakes it. */
  isResting: boolean;
  timer: Timer | undefined;
};

export type Queue = {
  /** The subscription's jobs in the order in which they are due, those under way included; none while it is disabled. */
  nextJobs(subscriptionId: string, limit: number): Promise<Job[]>;
  /** One attempt at the job, settled. A job that is gone or must not be sent any more is left as it is. */
  work(job: Job & { subscriptionId: string }): Promise<void>;
};

/**
 * One lane for each subscription that has work, served in turn. A lane's share of the concurrency shrinks as more lanes
 * ask, so an endpoint that hangs fills its own lane and delays nobody else. A fault of the queue itself is logged, and
 * the lane that met it looks again after a second.
 */
export class Lanes {
  readonly #queue: Queue;
  readonly #log: Log;
  readonly #lanes = new Map<string, Lane>();
  /** The lanes that may have something due, in the order of their turns. */
  readonly #turns: Lane[] = [];
  /** The lanes that wait for a time to come; they ask for no share. */
  readonly #asleep = new Set<Lane>();
  readonly #underWay = new Set<Promise<void>>();
  #isServing = false;
  #isStopped = false;

  constructor(queue: Queue, log: Log) {
    this.#queue = queue;
    this.#log = log;
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
    const lane: Lane = {
      subscriptionId,
      inFlight: new Set(),
      ready: [],
      isWaiting: false,
      isResting: false,
      timer: undefined,
    };
    this.#lanes.set(subscriptionId, lane);
    return lane;
  }

  #line(lane: Lane): void {
    if (lane.isResting) return;
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
    while (!this.#isStopped && this.#underWay.size < concurrencyMax + reserve) {
      const lane = this.#turns.shift();
      if (!lane) break;
      lane.isWaiting = false;
      // One that may not begin another now has some under way, and lines up again when the first of them ends.
      if (lane.isResting || !this.#mayBegin(lane)) continue;
      await this.#turnOf(lane);
    }
    this.#isServing = false;
  }

  async #turnOf(lane: Lane): Promise<void> {
    try {
      const job = lane.ready.shift() ?? (await this.#nextOf(lane));
      if (job === undefined || this.#isStopped) return;
      this.#begin(lane, job);
      this.#line(lane);
    } catch (error) {
      this.#rest(lane, error);
    }
  }

  #mayBegin({ inFlight }: Lane): boolean {
    return inFlight.size === 0 || (inFlight.size < this.#share() && this.#underWay.size < concurrencyMax);
  }

  /** How many attempts each lane may have under way: all the same, and at least one. */
  #share(): number {
    const awake = Math.max(1, this.#lanes.size - this.#asleep.size);
    return Math.max(1, Math.min(laneConcurrencyMax, Math.floor(concurrencyMax / awake)));
  }

  /** The lane's next job that is due. Without one it sleeps until its next job is, or closes when there is none. */
  async #nextOf(lane: Lane): Promise<Job | undefined> {
    // Those under way are still in the queue, so as many more are asked for.
    const next = await this.#queue.nextJobs(lane.subscriptionId, lane.inFlight.size + laneConcurrencyMax);
    const free = next.filter(({ eventSeq }) => !lane.inFlight.has(eventSeq));
    const now = Date.now();
    lane.ready = free.filter(({ dueAt }) => dueAt <= now);
    const due = lane.ready.shift();
    if (due !== undefined) return due;
    const [later] = free;
    if (later) this.#sleep(lane, later.dueAt - now);
    else if (lane.inFlight.size === 0) this.#close(lane);
    return undefined;
  }

  #sleep(lane: Lane, ms: number): void {
    clearTimeout(lane.timer);
    if (this.#isStopped) return;
    this.#asleep.add(lane);
    lane.timer = setTimeout(
      () => {
        lane.isResting = false;
        this.wake([lane.subscriptionId]);
      },
      Math.min(Math.max(ms, 1), timerMaxMs),
    );
  }

  /** Whatever it has fetched ahead may be no better than what failed, so it begins afresh. */
  #rest(lane: Lane, error: unknown, eventSeq?: number): void {
    this.#log.error({ err: error, webhook: lane.subscriptionId, event_seq: eventSeq }, "queue.failed");
    lane.ready = [];
    lane.isResting = true;
    this.#sleep(lane, faultPauseMs);
  }

  #begin(lane: Lane, { eventSeq, dueAt }: Job): void {
    const { subscriptionId } = lane;
    lane.inFlight.add(eventSeq);
    const work = this.#queue
      .work({ subscriptionId, eventSeq, dueAt })
      .catch((error: unknown) => this.#rest(lane, error, eventSeq))
      .then(() => {
        lane.inFlight.delete(eventSeq);
        this.#underWay.delete(work);
        this.#line(lane);
        this.#serve();
      });
    this.#underWay.add(work);
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
