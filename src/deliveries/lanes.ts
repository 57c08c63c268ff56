import { type Answer, whenAnswered } from "../database/answer.ts";
import type { Log } from "../log/log.ts";
import type { HostRequest } from "./hosts.ts";
import { type Lane, LaneSet } from "./lane-set.ts";
import type { Places } from "./places.ts";
import type { Pool, InFlight } from "./pool.ts";
import type { AttemptResult, Job, Queue } from "./queue.ts";
import { atOnceMax, type TrackRecord } from "./track-record.ts";

/** How long a lane backs off after an internal error, such as an unreadable file, in milliseconds. */
const faultPauseMs = 1_000;

/**
 * After this many milliseconds of starting attempts to new or slow receivers, the loop yields to other work. Attempts
 * to quick receivers all start at once: if they were spread out, fewer of their outcomes would share a commit.
 */
const sliceMs = 1;

/**
 * For slow receivers the loop then rests for this multiple of the time taken, up to a limit. Attempts that hang all
 * last for the timeout, so those that start together would also end together.
 */
const restFactor = 3;
const restMaxMs = 50;

/** The longest delay of a timer, in milliseconds; a lane that is due later checks again then. */
const timerMaxMs = 2 ** 31 - 1;

/**
 * Decides which attempt starts when. Each subscription with work has a lane, which goes as fast as its track record
 * allows. Quick, new and slow receivers each have a pool, in which teams take turns, as do the lanes within a team:
 * endpoints that hang delay no other subscription, however many they are and whoever owns them. A lane whose host is at
 * its limit waits for one of the host's requests to end, and holds up no other lane. An error of the queue itself is
 * logged, and the lane that hit it backs off for a second.
 */
export class Lanes {
  readonly #queue: Queue;
  readonly #log: Log;
  readonly #lanes: LaneSet;
  readonly #inFlight = new Set<Promise<void>>();
  #isStopped = false;

  constructor(queue: Queue, log: Log, { places, backoffBaseMs }: { places: Places; backoffBaseMs: number }) {
    this.#queue = queue;
    this.#log = log;
    this.#lanes = new LaneSet(queue, places, backoffBaseMs);
  }

  /** Looks for work for these subscriptions. */
  wake(subscriptionIds: Iterable<string>): Answer<void> {
    return whenAnswered(this.#lanes.open(subscriptionIds), (lanes) => {
      for (const lane of lanes) if (lane) this.#enqueue(lane);
      this.#serve();
    });
  }

  /** See `LaneSet`. */
  readonly stalledMs = (): number => this.#lanes.stalledMs();

  /** Starts no more attempts and waits for those in flight, at most `waitMs` milliseconds. */
  async stop(waitMs: number): Promise<void> {
    this.#isStopped = true;
    for (const lane of this.#lanes) clearTimeout(lane.timer);
    for (const pool of Object.values(this.#lanes.pools)) pool.stop();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMs);
    await Promise.race([Promise.all(this.#inFlight), promise]);
    clearTimeout(timer);
  }

  /** Enqueues the lane for a turn, unless it must wait for something else first. */
  #enqueue(lane: Lane): void {
    if (lane.isBackingOff || lane.isWaitingForHost) return;
    this.#lanes.wake(lane);
    if (lane.isInTurn) lane.isWoken = true;
    else lane.turn ??= lane.pool.push(lane);
  }

  readonly #serveLater = (): void => this.#serve();

  #serve(): void {
    for (const pool of Object.values(this.#lanes.pools)) {
      if (pool.isServing || this.#isStopped || !pool.hasWaiting) continue;
      pool.isServing = true;
      void this.#serveTurns(pool);
    }
  }

  // Runs at most once at a time for each pool. A lane starts one attempt in its turn, then queues up again.
  async #serveTurns(pool: Pool<Lane>): Promise<void> {
    const { quick, slow } = this.#lanes.pools;
    let since = performance.now();
    while (!this.#isStopped) {
      const tookMs = performance.now() - since;
      if (pool !== quick && tookMs > sliceMs) {
        await this.#queue.rest(pool === slow ? Math.min(tookMs * restFactor, restMaxMs) : 0);
        since = performance.now();
        continue;
      }
      const lane = pool.shift() ?? this.#nextAfterDemoting(pool);
      if (!lane) break;
      lane.turn = undefined;
      const turn = this.#mayBegin(lane) ? this.#takeTurn(lane) : undefined;
      // Usually the attempt has started already, and an await costs half a microsecond.
      if (turn) await turn;
    }
    pool.isServing = false;
  }

  /** Whether the lane whose turn it is may start an attempt. If only its host is full, the lane waits for the host. */
  #mayBegin(lane: Lane): boolean {
    const { hosts } = this.#lanes;
    if (!this.#mayHaveMore(lane)) {
      if (lane.hasHostPlace) this.#releaseHost(lane);
      lane.hasHostPlace = false;
      return false;
    }
    if (lane.hasHostPlace || !hosts.isFull(lane)) return true;
    lane.pool.rest(lane);
    lane.isWaitingForHost = true;
    hosts.wait(lane);
    return false;
  }

  /** Whether the lane's track record and its pool allow one more attempt. */
  #mayHaveMore(lane: Lane): boolean {
    const { inFlight, record, ready, pool, isBackingOff } = lane;
    if (isBackingOff) return false;
    if (inFlight.size === 0) return true;
    const mayHaveMore = inFlight.size < record.atOnce && this.#lanes.findRoom(lane, this.#serveLater);
    // Its attempts may hold slow places by now, so it claims a share of this pool only while it has more to send.
    if (!mayHaveMore && (ready.length === 0 || inFlight.size >= record.atOnce)) pool.rest(lane);
    return mayHaveMore;
  }

  /** Dequeues the next lane after slow attempts have given up their places. */
  #nextAfterDemoting(pool: Pool<Lane>): Lane | undefined {
    if (!pool.hasWaiting) return undefined;
    this.#lanes.demoteSlow(pool, this.#serveLater);
    return pool.shift();
  }

  /**
   * Starts the lanes that wait for the host while it has room. If others go first in a lane's pool, its place at the
   * host is held until its turn: a lane that had to give up either place for lack of the other might never hold both.
   */
  #serveHost(host: string): void {
    const { hosts } = this.#lanes;
    while (!this.#isStopped) {
      const lane = hosts.next(host);
      if (!lane) break;
      lane.isWaitingForHost = false;
      if (lane.isBackingOff) continue;
      this.#lanes.wake(lane);
      if (!this.#mayHaveMore(lane)) continue;
      if (lane.pool.isNext(lane.teamId)) void this.#takeTurn(lane);
      else {
        hosts.begin(lane);
        lane.hasHostPlace = true;
        lane.turn = lane.pool.push(lane);
      }
    }
  }

  /** Takes the places for an attempt before anything is awaited; starts the attempt or gives the places back. */
  #takeTurn(lane: Lane): Promise<void> | undefined {
    const { teamId, host, pool, record } = lane;
    const beganAt = performance.now();
    const attempt: InFlight<Lane> = { teamId, host, pool, beganAt };
    pool.add(attempt);
    if (!lane.hasHostPlace) this.#lanes.hosts.begin(lane);
    lane.hasHostPlace = false;
    const job = record.waitMs(beganAt) === 0 ? lane.ready.shift() : undefined;
    if (!job) return this.#startNext(lane, attempt);
    this.#start(lane, job, attempt);
    this.#enqueue(lane);
    return undefined;
  }

  /** Looks for a job to start with the attempt's places. */
  async #startNext(lane: Lane, attempt: InFlight<Lane>): Promise<void> {
    lane.isInTurn = true;
    const job = await this.#nextJob(lane);
    lane.isInTurn = false;
    const isWoken = lane.isWoken;
    lane.isWoken = false;
    if (job && !this.#isStopped) this.#start(lane, job, attempt);
    else this.#release(attempt);
    if (job || isWoken) this.#enqueue(lane);
    this.#serve();
  }

  #release(attempt: InFlight<Lane>): void {
    attempt.pool.remove(attempt);
    this.#releaseHost(attempt);
  }

  #releaseHost(request: HostRequest): void {
    this.#lanes.hosts.end(request);
    this.#serveHost(request.host);
  }

  /** Returns the lane's next job. If there is none, the lane sleeps, backs off or closes. */
  async #nextJob(lane: Lane): Promise<Job | undefined> {
    try {
      const waitMs = lane.record.waitMs(performance.now());
      if (waitMs === 0 || (await this.#endPause(lane)))
        return lane.ready.shift() ?? (await this.#fetchNext(lane));
      if (!lane.isBackingOff) this.#sleep(lane, waitMs);
    } catch (error) {
      this.#backOff(lane, error);
    }
    return undefined;
  }

  /** Ends the wait before the lane's next attempt if the streak behind it has been ended by hand. */
  async #endPause(lane: Lane): Promise<boolean> {
    const history = await this.#queue.deliveryRecord(lane.subscriptionId);
    if ((history?.failures ?? 0) > 0 || lane.isBackingOff) return false;
    lane.record.resetPace();
    // Other jobs may precede the prefetched ones by now: enabling puts all that wait in order.
    lane.ready = [];
    return true;
  }

  /** Fetches the next due job. If none is due, the lane sleeps until one is; without any job, it closes. */
  async #fetchNext(lane: Lane): Promise<Job | undefined> {
    // Jobs in flight are still in the queue, and in the answer also those that end before it is here.
    const inFlight = new Set(lane.inFlight);
    const { url, jobs } = await this.#queue.nextJobs(lane.subscriptionId, inFlight.size + atOnceMax);
    if (lane.isBackingOff) return undefined;
    if (url !== undefined && url !== lane.url) return this.#lanes.move(lane, url);
    const free = jobs.filter(({ eventSeq }) => !inFlight.has(eventSeq));
    const now = this.#queue.now();
    lane.ready = free.filter(({ dueAt }) => dueAt <= now);
    const due = lane.ready.shift();
    if (due !== undefined) return due;
    const [later] = free;
    if (later) this.#sleep(lane, later.dueAt - now);
    else if (lane.inFlight.size === 0) this.#close(lane);
    else lane.pool.rest(lane);
    return undefined;
  }

  #sleep(lane: Lane, ms: number): void {
    clearTimeout(lane.timer);
    if (this.#isStopped) return;
    lane.pool.rest(lane);
    const wake = () => {
      lane.isBackingOff = false;
      void this.wake([lane.subscriptionId]);
    };
    lane.timer = setTimeout(wake, Math.min(Math.max(ms, 1), timerMaxMs));
  }

  /** Logs an internal error and backs off. */
  #backOff(lane: Lane, error: unknown, eventSeq?: number): void {
    this.#log.error({ err: error, webhook: lane.subscriptionId, event_seq: eventSeq }, "queue.failed");
    this.#pause(lane);
  }

  /** Backs off. The prefetched jobs are dropped, because they may be as stale as the one that failed. */
  #pause(lane: Lane): void {
    lane.ready = [];
    lane.isBackingOff = true;
    this.#sleep(lane, faultPauseMs);
  }

  #start(lane: Lane, job: Job, attempt: InFlight<Lane>): void {
    const { subscriptionId, record } = lane;
    const number = record.begin(attempt.beganAt);
    lane.inFlight.add(job.eventSeq);
    const work = this.#queue
      .work({ ...job, subscriptionId }, (hasSucceeded) => record.report(number, hasSucceeded))
      .then(
        (result) => this.#settle(lane, record, result),
        (error: unknown) => this.#backOff(lane, error, job.eventSeq),
      )
      .then(() => {
        lane.inFlight.delete(job.eventSeq);
        this.#inFlight.delete(work);
        this.#enqueue(lane);
        this.#release(attempt);
        this.#serve();
      });
    this.#inFlight.add(work);
  }

  #settle(lane: Lane, record: TrackRecord, result: AttemptResult | undefined): void {
    if (result?.kind === "own_fault") this.#pause(lane);
    else if (result) this.#lanes.recordResult(lane, record, result);
  }

  #close(lane: Lane): void {
    clearTimeout(lane.timer);
    if (lane.turn || lane.isWaitingForHost || lane.isWoken) return;
    lane.pool.rest(lane);
    this.#lanes.close(lane);
  }
}
