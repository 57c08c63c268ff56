import { type Answer, whenAnswered } from "../database/answer.ts";
import type { DeliveryRecord } from "../subscriptions/store.ts";
import type { ListNode } from "./linked-list.ts";
import { Hosts, hostOf } from "./hosts.ts";
import type { Places } from "./places.ts";
import { Pool } from "./pool.ts";
import type { AttemptResult, Job, Queue } from "./queue.ts";
import { atOnceMax, type Speed, TrackRecord } from "./track-record.ts";

/** The deliveries of one subscription that has work. */
export type Lane = {
  readonly subscriptionId: string;
  readonly teamId: string;
  /** Where its requests go. */
  url: string;
  /** The same, as `hostOf` returns it. */
  host: string;
  record: TrackRecord;
  /** The pool that its attempts begin in, by the receiver's speed. */
  pool: Pool<Lane>;
  /** The numbers of the events in flight. */
  inFlight: Set<number>;
  /** Jobs that are due, prefetched in the order of the queue. */
  ready: Job[];
  /** Its node in the queue of its pool, while it waits there. */
  turn: ListNode<Lane> | undefined;
  isWaitingForHost: boolean;
  /** Whether a place at its host is held for it until its turn in the pool. */
  hasHostPlace: boolean;
  /** Whether it has its turn and is looking for a job. */
  isInTurn: boolean;
  /** Whether it was woken during its turn, and so needs another. */
  isWoken: boolean;
  /** Whether it is backing off after an internal error: nothing but its timer wakes it. */
  isBackingOff: boolean;
  timer: Timer | undefined;
};

/** A result that says something about the receiver. */
type ReceiverResult = Exclude<AttemptResult, { kind: "own_fault" }>;

/** The lanes of the subscriptions that have work, and the track records of those that had work lately. */
export class LaneSet {
  readonly hosts = new Hosts<Lane>();
  readonly pools: Record<Speed, Pool<Lane>>;
  readonly #queue: Pick<Queue, "deliveryRecord">;
  readonly #backoffBaseMs: number;
  readonly #open = new Map<string, Lane>();
  /** Closed lanes, in the order in which they closed. */
  readonly #closed = new Map<string, Lane>();

  constructor(queue: Pick<Queue, "deliveryRecord">, places: Places, backoffBaseMs: number) {
    this.#queue = queue;
    this.#backoffBaseMs = backoffBaseMs;
    this.pools = {
      quick: new Pool(places.quick),
      new: new Pool(places.new),
      slow: new Pool(places.slow),
    };
  }

  /** Iterates over the open lanes. */
  [Symbol.iterator](): IterableIterator<Lane> {
    return this.#open.values();
  }

  /** Returns the lanes of the subscriptions, open; undefined in place of one that does not exist. */
  open(subscriptionIds: Iterable<string>): Answer<Array<Lane | undefined>> {
    const lanes: Array<Lane | undefined> = [];
    const later: Array<Promise<Lane | undefined>> = [];
    for (const id of subscriptionIds) {
      const lane = this.#of(id);
      if (lane instanceof Promise) later.push(lane);
      else lanes.push(lane);
    }
    return later.length === 0 ? lanes : Promise.all(later).then((opened) => [...lanes, ...opened]);
  }

  #of(subscriptionId: string): Answer<Lane | undefined> {
    const known = this.#known(subscriptionId);
    if (known) return known;
    return whenAnswered(this.#queue.deliveryRecord(subscriptionId), (record) => {
      // Somebody else may have opened it meanwhile.
      const lane = this.#known(subscriptionId) ?? (record && this.#new(subscriptionId, record));
      if (lane) this.#open.set(subscriptionId, lane);
      return lane;
    });
  }

  /** Returns a lane that is open or was lately, and opens it. */
  #known(subscriptionId: string): Lane | undefined {
    const open = this.#open.get(subscriptionId);
    if (open) return open;
    const closed = this.#closed.get(subscriptionId);
    if (!closed) return undefined;
    this.#closed.delete(subscriptionId);
    closed.pool = this.pools[closed.record.speed];
    this.#open.set(subscriptionId, closed);
    return closed;
  }

  /** Closes a lane that has nothing to do. Its track record is kept until a new one would say the same. */
  close(lane: Lane): void {
    this.#open.delete(lane.subscriptionId);
    this.#closed.set(lane.subscriptionId, lane);
    const now = performance.now();
    for (const [id, { record }] of this.#closed) {
      if (!record.isStale(now)) break;
      this.#closed.delete(id);
    }
  }

  /** For how long a loop that serves a pool has not gone round, in milliseconds; 0 when none has lanes to serve. */
  stalledMs(): number {
    const serving = Object.values(this.pools).filter(({ isServing }) => isServing);
    return Math.max(0, performance.now() - Math.min(...serving.map(({ turnedAt }) => turnedAt)));
  }

  /**
   * Whether the pool has room for another attempt of a lane that has some in flight; demotes slow attempts if need be.
   */
  findRoom(lane: Lane, later: () => void): boolean {
    if (hasRoomFor(lane)) return true;
    this.demoteSlow(lane.pool, later);
    return hasRoomFor(lane);
  }

  /** Moves attempts that turn out slow from the pool to the slow one; calls `later` when more may be moved. */
  demoteSlow(pool: Pool<Lane>, later: () => void): void {
    const { slow } = this.pools;
    if (pool !== slow) pool.demoteSlow(slow, performance.now(), later);
  }

  /** Claims a share of its pool for the lane. */
  wake(lane: Lane): void {
    if (lane.timer !== undefined) clearTimeout(lane.timer);
    lane.timer = undefined;
    lane.pool.wake(lane, lane.record.atOnce > 1);
  }

  /**
   * Updates the track record after an attempt that began with it. A lane whose receiver changed speed leaves its pool's
   * queue for the other pool.
   */
  recordResult(lane: Lane, record: TrackRecord, result: ReceiverResult): void {
    // An attempt at the URL of before says nothing about the receiver of now.
    if (record !== lane.record) return;
    const now = performance.now();
    record.ended(result, now);
    if (result.kind === "failed" && result.isCounted) record.failed(result.failures, now);
    this.#join(lane, this.pools[record.speed]);
  }

  /**
   * Lets the attempts of the lane, which has its turn, go to another URL from its next turn on. The receiver there has yet
   * to show what it can take.
   */
  move(lane: Lane, url: string): undefined {
    lane.url = url;
    lane.host = hostOf(url);
    lane.record = new TrackRecord("new", this.#backoffBaseMs);
    lane.isWoken = true;
    this.#join(lane, this.pools.new);
  }

  #join(lane: Lane, pool: Pool<Lane>): void {
    if (lane.pool === pool) return;
    lane.pool.rest(lane);
    if (lane.turn) lane.pool.leave(lane.turn);
    lane.turn = undefined;
    lane.pool = pool;
  }

  /** A receiver that was healthy before the server started is assumed to still be. */
  #new(subscriptionId: string, { teamId, url, failures, hasSucceeded }: DeliveryRecord): Lane {
    const speed = hasSucceeded && failures === 0 ? "quick" : "new";
    return {
      subscriptionId,
      teamId,
      url,
      host: hostOf(url),
      record: new TrackRecord(speed, this.#backoffBaseMs),
      pool: this.pools[speed],
      inFlight: new Set(),
      ready: [],
      turn: undefined,
      isWaitingForHost: false,
      hasHostPlace: false,
      isInTurn: false,
      isWoken: false,
      isBackingOff: false,
      timer: undefined,
    };
  }
}

function hasRoomFor({ inFlight, pool, teamId }: Lane): boolean {
  return inFlight.size < pool.share(teamId, atOnceMax) && pool.hasRoomForMore(teamId);
}
