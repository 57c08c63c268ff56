import type { Log } from "../log.ts";
import { Pool, type UnderWay } from "./pool.ts";
import { atOnceMax, type Speed, TrackRecord } from "./track-record.ts";

/** How long a lane is left alone after a fault of our own, an unreadable file for one, in milliseconds. */
const faultPauseMs = 1_000;

/** The longest that a timer can be set for; a lane that is due later looks again then. */
const timerMaxMs = 2 ** 31 - 1;

/** One event for one subscription, under the number of the event. */
type Job = { eventSeq: number; dueAt: number };

/** How an attempt ended; `failures` is the streak after it. */
export type Ended =
  | { kind: "succeeded"; durationMs: number }
  | { kind: "failed"; durationMs: number; hasTimedOut: boolean; isCounted: boolean; failures: number }
  | { kind: "own_fault" };

type Lane = {
  subscriptionId: string;
  record: TrackRecord;
  /** The one that its attempts begin in, by its record. */
  pool: Pool<Lane>;
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
  /** The time by which jobs are due, in milliseconds since 1970. */
  now(): number;
  /** The subscription's jobs in the order in which they are due, those under way included; none while it is disabled. */
  nextJobs(subscriptionId: string, limit: number): Promise<Job[]>;
  /** What is on record of the subscription's deliveries: how many failed in a row, and whether one ever succeeded. */
  standing(subscriptionId: string): { failures: number; hasSucceeded: boolean };
  /**
   * One attempt at the job, settled. `countFailure` tells whether its failure lengthens the streak, and is to be called as
   * soon as it is known to have failed. Undefined when there was none: a job that is gone or must not be sent any more
   * is left as it is.
   */
  work(job: Job & { subscriptionId: string }, countFailure: () => boolean): Promise<Ended | undefined>;
};

/** How many attempts may be under way at once to receivers of each speed. */
export type Places = Record<Speed, number>;

/**
 * One lane for each subscription that has work. Each goes as fast as its track record allows. Receivers that are quick,
 * new or slow have a pool each, in which lanes are served in turn and share the places alike: so endpoints that hang
 * delay nobody else, however many they are. A fault of the queue itself is logged, and the lane that met it looks again
 * after a second.
 */
export class Lanes {
  readonly #queue: Queue;
  readonly #log: Log;
  readonly #backoffBaseMs: number;
  readonly #pools: Record<Speed, Pool<Lane>>;
  readonly #lanes = new Map<string, Lane>();
  /** The records of lanes that have closed, in the order in which they did. */
  readonly #records = new Map<string, TrackRecord>();
  readonly #underWay = new Set<Promise<void>>();
  #isStopped = false;

  constructor(queue: Queue, log: Log, { places, backoffBaseMs }: { places: Places; backoffBaseMs: number }) {
    this.#queue = queue;
    this.#log = log;
    this.#backoffBaseMs = backoffBaseMs;
    this.#pools = { quick: new Pool(places.quick), new: new Pool(places.new), slow: new Pool(places.slow) };
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
    for (const pool of Object.values(this.#pools)) pool.stop();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMs);
    await Promise.race([Promise.all(this.#underWay), promise]);
    clearTimeout(timer);
  }

  #open(subscriptionId: string): Lane {
    const record = this.#records.get(subscriptionId) ?? this.#newRecord(subscriptionId);
    this.#records.delete(subscriptionId);
    const lane: Lane = {
      subscriptionId,
      record,
      pool: this.#pools[record.speed],
      inFlight: new Set(),
      ready: [],
      isWaiting: false,
      isResting: false,
      timer: undefined,
    };
    this.#lanes.set(subscriptionId, lane);
    return lane;
  }

  /** A receiver that was doing well before the server started is taken to do so still. */
  #newRecord(subscriptionId: string): TrackRecord {
    const { failures, hasSucceeded } = this.#queue.standing(subscriptionId);
    return new TrackRecord(hasSucceeded && failures === 0 ? "quick" : "new", this.#backoffBaseMs);
  }

  #line(lane: Lane): void {
    if (lane.isResting) return;
    this.#rouse(lane);
    if (lane.isWaiting) return;
    lane.isWaiting = true;
    lane.pool.turns.push(lane);
  }

  #serve(): void {
    const { quick, new: fresh, slow } = this.#pools;
    for (const pool of [quick, fresh, slow]) {
      if (pool.isServing || this.#isStopped || pool.turns.length === 0) continue;
      pool.isServing = true;
      void this.#serveTurns(pool);
    }
  }

  // Never concurrent with itself for one pool: each lane that has its turn begins one attempt and lines up again.
  async #serveTurns(pool: Pool<Lane>): Promise<void> {
    while (!this.#isStopped && pool.turns.length > 0) {
      if (pool.isFull && pool !== this.#pools.slow) {
        pool.giveUpSlow(this.#pools.slow, performance.now(), () => this.#serve());
      }
      if (pool.isFull) break;
      const lane = pool.turns.shift();
      if (!lane) break;
      lane.isWaiting = false;
      if (lane.pool !== pool) {
        this.#line(lane);
        this.#serve();
      }
      // One that may not begin another now has some under way, and lines up again when the first of them ends.
      else if (!lane.isResting && mayBegin(lane)) await this.#turnOf(lane);
    }
    pool.isServing = false;
  }

  async #turnOf(lane: Lane): Promise<void> {
    try {
      const waitMs = this.#paceOf(lane);
      if (waitMs > 0) return this.#sleep(lane, waitMs);
      const job = lane.ready.shift() ?? (await this.#nextOf(lane));
      if (job === undefined || this.#isStopped) return;
      this.#begin(lane, job);
      this.#line(lane);
    } catch (error) {
      this.#rest(lane, error);
    }
  }

  /** How long the lane's next attempt has to wait. The streak that it waits for may have been ended by hand. */
  #paceOf({ record, subscriptionId }: Lane): number {
    const waitMs = record.waitMs(performance.now());
    if (waitMs === 0 || this.#queue.standing(subscriptionId).failures > 0) return waitMs;
    record.forgive();
    return 0;
  }

  /** The lane's next job that is due. Without one it sleeps until its next job is, or closes when there is none. */
  async #nextOf(lane: Lane): Promise<Job | undefined> {
    // Those under way are still in the queue, so as many more are asked for.
    const next = await this.#queue.nextJobs(lane.subscriptionId, lane.inFlight.size + atOnceMax);
    if (lane.isResting) return undefined;
    const free = next.filter(({ eventSeq }) => !lane.inFlight.has(eventSeq));
    const now = this.#queue.now();
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
    lane.pool.rest(lane);
    lane.timer = setTimeout(
      () => {
        lane.isResting = false;
        this.wake([lane.subscriptionId]);
      },
      Math.min(Math.max(ms, 1), timerMaxMs),
    );
  }

  #rest(lane: Lane, error: unknown, eventSeq?: number): void {
    this.#log.error({ err: error, webhook: lane.subscriptionId, event_seq: eventSeq }, "queue.failed");
    this.#pause(lane);
  }

  /** Whatever it has fetched ahead may be no better than what failed, so it begins afresh. */
  #pause(lane: Lane): void {
    lane.ready = [];
    lane.isResting = true;
    this.#sleep(lane, faultPauseMs);
  }

  #begin(lane: Lane, { eventSeq, dueAt }: Job): void {
    const { subscriptionId, record } = lane;
    const beganAt = performance.now();
    const attempt: UnderWay<Lane> = { pool: lane.pool, beganAt };
    const number = record.begin(beganAt);
    lane.inFlight.add(eventSeq);
    lane.pool.add(attempt);
    const work = this.#queue
      .work({ subscriptionId, eventSeq, dueAt }, () => record.countFailure(number))
      .then(
        (ended) => this.#note(lane, ended),
        (error: unknown) => this.#rest(lane, error, eventSeq),
      )
      .then(() => {
        lane.inFlight.delete(eventSeq);
        attempt.pool.remove(attempt);
        this.#underWay.delete(work);
        this.#line(lane);
        this.#serve();
      });
    this.#underWay.add(work);
  }

  /** Keeps what the attempt has shown of the receiver. */
  #note(lane: Lane, ended: Ended | undefined): void {
    if (ended === undefined) return;
    if (ended.kind === "own_fault") return this.#pause(lane);
    const { record } = lane;
    const now = performance.now();
    record.ended(ended, now);
    if (ended.kind === "succeeded") record.succeeded();
    else if (ended.isCounted) record.failed(ended.failures, now);
    lane.pool.rest(lane);
    lane.pool = this.#pools[record.speed];
  }

  #rouse(lane: Lane): void {
    clearTimeout(lane.timer);
    lane.timer = undefined;
    lane.pool.rouse(lane, lane.record.atOnce > 1);
  }

  #close(lane: Lane): void {
    clearTimeout(lane.timer);
    if (lane.isWaiting) return;
    lane.pool.rest(lane);
    this.#lanes.delete(lane.subscriptionId);
    this.#records.set(lane.subscriptionId, lane.record);
    const now = performance.now();
    for (const [id, record] of this.#records) {
      if (!record.isSpent(now)) break;
      this.#records.delete(id);
    }
  }
}

function mayBegin({ inFlight, record, pool }: Lane): boolean {
  const most = Math.min(record.atOnce, pool.share(atOnceMax));
  return inFlight.size === 0 || (inFlight.size < most && pool.hasRoomForMore);
}
