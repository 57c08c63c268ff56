import type { Log } from "../log/log.ts";
import { type Lane, OpenLanes } from "./open-lanes.ts";
import type { Places } from "./places.ts";
import type { Pool, InFlight } from "./pool.ts";
import type { Ended, Job, Queue } from "./queue.ts";
import { atOnceMax } from "./track-record.ts";

/** How long a lane is left alone after a fault of our own, an unreadable file for one, in milliseconds. */
const faultPauseMs = 1_000;

/**
 * After so many milliseconds of beginning attempts to new or slow receivers, whatever else the server has to do comes
 * first. Those to quick receivers begin at once: broken up, their outcomes would share fewer commits.
 */
const sliceMs = 1;

/**
 * Slow receivers then wait for so many times as long, up to a limit: those that hang end when their time is over, so that
 * what begins together would end together.
 */
const restFactor = 3;
const restMaxMs = 50;

/** The longest that a timer can be set for; a lane that is due later looks again then. */
const timerMaxMs = 2 ** 31 - 1;

/**
 * One lane for each subscription that has work. Each goes as fast as its track record allows. Receivers that are quick,
 * new or slow have a pool each, in which teams have their turns, and within a team its lanes: so endpoints that hang delay
 * nobody else, however many they are and whosever. Lanes to a host that has as many requests as it may wait for one of
 * them to end, and hold up no others. A fault of the queue itself is logged, and the lane that met it looks again after a
 * second.
 */
export class Lanes {
  readonly #queue: Queue;
  readonly #log: Log;
  readonly #lanes: OpenLanes;
  readonly #inFlight = new Set<Promise<void>>();
  #isStopped = false;

  constructor(queue: Queue, log: Log, { places, backoffBaseMs }: { places: Places; backoffBaseMs: number }) {
    this.#queue = queue;
    this.#log = log;
    this.#lanes = new OpenLanes(queue, places, backoffBaseMs);
  }

  /** Looks for work in these subscriptions' lanes. */
  wake(subscriptionIds: Iterable<string>): void {
    for (const id of subscriptionIds) {
      const lane = this.#lanes.of(id);
      if (lane) this.#enqueue(lane);
    }
    this.#serve();
  }

  /** Begins nothing new and waits for what is under way, for `waitMs` at most. */
  async stop(waitMs: number): Promise<void> {
    this.#isStopped = true;
    for (const lane of this.#lanes) clearTimeout(lane.timer);
    for (const pool of Object.values(this.#lanes.pools)) pool.stop();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMs);
    await Promise.race([Promise.all(this.#inFlight), promise]);
    clearTimeout(timer);
  }

  /** Has the lane wait for its turn, where it may have something to do. */
  #enqueue(lane: Lane): void {
    if (lane.isResting || lane.isWaitingForHost) return;
    this.#lanes.wake(lane);
    if (lane.isInTurn) lane.isWoken = true;
    else lane.turn ??= lane.pool.push(lane);
  }

  readonly #serveLater = (): void => this.#serve();

  #serve(): void {
    const { quick, new: fresh, slow } = this.#lanes.pools;
    for (const pool of [quick, fresh, slow]) {
      if (pool.isServing || this.#isStopped || !pool.isAsked) continue;
      pool.isServing = true;
      void this.#serveTurns(pool);
    }
  }

  // Never concurrent with itself for one pool: each lane that has its turn begins one attempt and lines up again.
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
      const lane = pool.shift() ?? this.#nextAfterGivingUp(pool);
      if (!lane) break;
      lane.turn = undefined;
      const turn = this.#mayBegin(lane) ? this.#turnOf(lane) : undefined;
      // Mostly it has begun already, and to wait for nothing costs half a microsecond.
      if (turn) await turn;
    }
    pool.isServing = false;
  }

  /** Whether the lane, whose turn it is, may begin an attempt. Where only its host is full, it waits for that. */
  #mayBegin(lane: Lane): boolean {
    const { hosts } = this.#lanes;
    if (!this.#mayHaveMore(lane)) {
      if (lane.hasHostPlace) this.#endAtHost(lane);
      lane.hasHostPlace = false;
      return false;
    }
    if (lane.hasHostPlace || !hosts.isFull(lane)) return true;
    lane.pool.rest(lane);
    lane.isWaitingForHost = true;
    hosts.wait(lane);
    return false;
  }

  /** Whether the lane may have an attempt more, as far as its record and its pool go. */
  #mayHaveMore(lane: Lane): boolean {
    const { inFlight, record, ready, pool, isResting } = lane;
    if (isResting) return false;
    if (inFlight.size === 0) return true;
    const mayHaveMore = inFlight.size < record.atOnce && this.#lanes.findRoom(lane, this.#serveLater);
    // What it has may be among the slow by now: unless it is known to have more to send, it keeps no places from others.
    if (!mayHaveMore && (ready.length === 0 || inFlight.size >= record.atOnce)) pool.rest(lane);
    return mayHaveMore;
  }

  /** The lane whose turn it is once slow attempts have given their places back. */
  #nextAfterGivingUp(pool: Pool<Lane>): Lane | undefined {
    if (!pool.isAsked) return undefined;
    this.#lanes.giveUpSlow(pool, this.#serveLater);
    return pool.shift();
  }

  /**
   * Has those begin that wait for the host, as far as it has room. Where others come first in a pool, the place at the host
   * is held until they have had their turns: whoever lost one for want of the other might never have both.
   */
  #serveHost(host: string): void {
    const { hosts } = this.#lanes;
    while (!this.#isStopped) {
      const lane = hosts.next(host);
      if (!lane) break;
      lane.isWaitingForHost = false;
      if (lane.isResting) continue;
      this.#lanes.wake(lane);
      if (!this.#mayHaveMore(lane)) continue;
      if (lane.pool.isNext(lane.teamId)) void this.#turnOf(lane);
      else {
        hosts.begin(lane);
        lane.hasHostPlace = true;
        lane.turn = lane.pool.push(lane);
      }
    }
  }

  /** Begins an attempt, with places that are taken up before anything is waited for, or gives them back. */
  #turnOf(lane: Lane): Promise<void> | undefined {
    const { teamId, pool, record } = lane;
    const beganAt = performance.now();
    const attempt: InFlight<Lane> = { teamId, pool, beganAt };
    pool.add(attempt);
    if (!lane.hasHostPlace) this.#lanes.hosts.begin(lane);
    lane.hasHostPlace = false;
    const job = record.waitMs(beganAt) === 0 ? lane.ready.shift() : undefined;
    if (!job) return this.#lookFor(lane, attempt);
    this.#begin(lane, job, attempt);
    this.#enqueue(lane);
    return undefined;
  }

  /** Looks for something to begin with the attempt's places. */
  async #lookFor(lane: Lane, attempt: InFlight<Lane>): Promise<void> {
    lane.isInTurn = true;
    const job = await this.#jobOf(lane);
    lane.isInTurn = false;
    const isWoken = lane.isWoken;
    lane.isWoken = false;
    if (job && !this.#isStopped) this.#begin(lane, job, attempt);
    else this.#giveBack(lane, attempt);
    if (job || isWoken) this.#enqueue(lane);
    this.#serve();
  }

  #giveBack(lane: Lane, attempt: InFlight<Lane>): void {
    attempt.pool.remove(attempt);
    this.#endAtHost(lane);
  }

  #endAtHost(lane: Lane): void {
    this.#lanes.hosts.end(lane);
    this.#serveHost(lane.host);
  }

  /** What the lane has to do now. Without anything it sleeps, rests or closes. */
  async #jobOf(lane: Lane): Promise<Job | undefined> {
    try {
      const waitMs = this.#paceOf(lane);
      if (waitMs === 0) return lane.ready.shift() ?? (await this.#nextOf(lane));
      this.#sleep(lane, waitMs);
    } catch (error) {
      this.#backOff(lane, error);
    }
    return undefined;
  }

  /** How long the lane's next attempt has to wait. The streak that it waits for may have been ended by hand. */
  #paceOf(lane: Lane): number {
    const { record, subscriptionId } = lane;
    const waitMs = record.waitMs(performance.now());
    if (waitMs === 0 || (this.#queue.deliveryRecord(subscriptionId)?.failures ?? 0) > 0) return waitMs;
    record.forgive();
    // What was fetched ahead may have others before it by now: enabling puts all that waits in order.
    lane.ready = [];
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
    else lane.pool.rest(lane);
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

  #backOff(lane: Lane, error: unknown, eventSeq?: number): void {
    this.#log.error({ err: error, webhook: lane.subscriptionId, event_seq: eventSeq }, "queue.failed");
    this.#pause(lane);
  }

  /** Whatever it has fetched ahead may be no better than what failed, so it begins afresh. */
  #pause(lane: Lane): void {
    lane.ready = [];
    lane.isResting = true;
    this.#sleep(lane, faultPauseMs);
  }

  #begin(lane: Lane, { eventSeq, dueAt }: Job, attempt: InFlight<Lane>): void {
    const { subscriptionId, record } = lane;
    const number = record.begin(attempt.beganAt);
    lane.inFlight.add(eventSeq);
    const work = this.#queue
      .work({ subscriptionId, eventSeq, dueAt }, (hasSucceeded) => record.hear(number, hasSucceeded))
      .then(
        (ended) => this.#note(lane, ended),
        (error: unknown) => this.#backOff(lane, error, eventSeq),
      )
      .then(() => {
        lane.inFlight.delete(eventSeq);
        this.#inFlight.delete(work);
        this.#enqueue(lane);
        this.#giveBack(lane, attempt);
        this.#serve();
      });
    this.#inFlight.add(work);
  }

  #note(lane: Lane, ended: Ended | undefined): void {
    if (ended?.kind === "own_fault") this.#pause(lane);
    else if (ended) this.#lanes.note(lane, ended);
  }

  #close(lane: Lane): void {
    clearTimeout(lane.timer);
    if (lane.turn || lane.isWaitingForHost || lane.isWoken) return;
    lane.pool.rest(lane);
    this.#lanes.close(lane);
  }
}
