import type { Log } from "../log.ts";
import { type Lane, OpenLanes } from "./open-lanes.ts";
import type { Places } from "./places.ts";
import type { Pool, UnderWay } from "./pool.ts";
import type { Ended, Job, Queue } from "./queue.ts";
import { atOnceMax } from "./track-record.ts";

/** How long a lane is left alone after a fault of our own, an unreadable file for one, in milliseconds. */
const faultPauseMs = 1_000;

/**
 * After so many milliseconds of beginning attempts to new or slow receivers, whatever else the server has to do comes
 * first. Those to quick receivers begin at once: broken up, their outcomes would share fewer commits.
 */
const sliceMs = 4;

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
  readonly #underWay = new Set<Promise<void>>();
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
      if (lane) this.#line(lane);
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
    await Promise.race([Promise.all(this.#underWay), promise]);
    clearTimeout(timer);
  }

  #line(lane: Lane): void {
    if (lane.isResting) return;
    this.#rouse(lane);
    if (lane.isInTurn) lane.isWoken = true;
    else if (!lane.isWaiting) {
      lane.isWaiting = true;
      lane.pool.push(lane);
    }
  }

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
      lane.isWaiting = false;
      if (lane.pool === pool) {
        if (mayBegin(lane)) await this.#turnOf(lane);
      } else {
        this.#line(lane);
        this.#serve();
      }
    }
    pool.isServing = false;
  }

  /** The lane whose turn it is once slow attempts have given their places back. */
  #nextAfterGivingUp(pool: Pool<Lane>): Lane | undefined {
    const { slow } = this.#lanes.pools;
    if (pool === slow || !pool.isAsked) return undefined;
    pool.giveUpSlow(slow, performance.now(), () => this.#serve());
    return pool.shift();
  }

  /** Has those begin that wait for the host, as far as it has room. Where others come first in a pool, they wait there. */
  #serveHost(host: string): void {
    const { hosts } = this.#lanes;
    while (!this.#isStopped) {
      const line = hosts.next(host);
      if (!line) break;
      const lane = line.pool.shiftFromHost(line);
      if (!lane) continue;
      lane.isWaiting = false;
      if (lane.pool !== line.pool) this.#line(lane);
      else if (mayBegin(lane)) void this.#turnOf(lane);
    }
  }

  /** Begins an attempt, with places that are taken up before anything is waited for, or gives them back. */
  async #turnOf(lane: Lane): Promise<void> {
    const { teamId, pool } = lane;
    const attempt: UnderWay<Lane> = { teamId, pool, beganAt: performance.now() };
    pool.add(attempt);
    this.#lanes.hosts.begin(lane);
    lane.isInTurn = true;
    const job = await this.#jobOf(lane);
    lane.isInTurn = false;
    const isWoken = lane.isWoken;
    lane.isWoken = false;
    if (job && !this.#isStopped) this.#begin(lane, job, attempt);
    else this.#giveBack(lane, attempt);
    if (job || isWoken) this.#line(lane);
    this.#serve();
  }

  #giveBack(lane: Lane, attempt: UnderWay<Lane>): void {
    attempt.pool.remove(attempt);
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
      this.#rest(lane, error);
    }
    return undefined;
  }

  /** How long the lane's next attempt has to wait. The streak that it waits for may have been ended by hand. */
  #paceOf({ record, subscriptionId }: Lane): number {
    const waitMs = record.waitMs(performance.now());
    if (waitMs === 0 || (this.#queue.standing(subscriptionId)?.failures ?? 0) > 0) return waitMs;
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

  #begin(lane: Lane, { eventSeq, dueAt }: Job, attempt: UnderWay<Lane>): void {
    const { subscriptionId, record } = lane;
    const number = record.begin(attempt.beganAt);
    lane.inFlight.add(eventSeq);
    const work = this.#queue
      .work({ subscriptionId, eventSeq, dueAt }, () => record.countFailure(number))
      .then(
        (ended) => this.#note(lane, ended),
        (error: unknown) => this.#rest(lane, error, eventSeq),
      )
      .then(() => {
        lane.inFlight.delete(eventSeq);
        this.#underWay.delete(work);
        this.#line(lane);
        this.#giveBack(lane, attempt);
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
    lane.pool = this.#lanes.pools[record.speed];
  }

  #rouse(lane: Lane): void {
    clearTimeout(lane.timer);
    lane.timer = undefined;
    lane.pool.rouse(lane, lane.record.atOnce > 1);
  }

  #close(lane: Lane): void {
    clearTimeout(lane.timer);
    if (lane.isWaiting || lane.isWoken) return;
    lane.pool.rest(lane);
    this.#lanes.close(lane);
  }
}

function mayBegin({ inFlight, record, pool, teamId, isResting }: Lane): boolean {
  if (isResting) return false;
  const most = Math.min(record.atOnce, pool.share(teamId, atOnceMax));
  return inFlight.size === 0 || (inFlight.size < most && pool.hasRoomForMore(teamId));
}
