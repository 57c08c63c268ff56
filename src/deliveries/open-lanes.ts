import type { Link } from "./chain.ts";
import { Hosts, hostOf } from "./hosts.ts";
import type { Places } from "./places.ts";
import { Pool } from "./pool.ts";
import type { Ended, Job, Queue } from "./queue.ts";
import { atOnceMax, type Speed, TrackRecord } from "./track-record.ts";

/** A subscription that has work. */
export type Lane = {
  readonly subscriptionId: string;
  readonly teamId: string;
  /** Where its requests go. */
  readonly host: string;
  readonly record: TrackRecord;
  /** The one that its attempts begin in, by its record. */
  pool: Pool<Lane>;
  /** The numbers of the events under way. */
  inFlight: Set<number>;
  /** Jobs that are due, fetched ahead in the order of the queue. */
  ready: Job[];
  /** Its place among those that wait for their turns in its pool. */
  turn: Link<Lane> | undefined;
  isWaitingForHost: boolean;
  /** A place at its host is held for it until it has its turn in the pool. */
  hasHostPlace: boolean;
  /** It has its turn, and looks for a job. */
  isInTurn: boolean;
  /** It was woken while it had its turn, so that it waits for another. */
  isWoken: boolean;
  /** After a fault: until its timer ends this, nothing wakes it. */
  isResting: boolean;
  timer: Timer | undefined;
};

/** How an attempt ended that tells of its receiver. */
type Shown = Exclude<Ended, { kind: "own_fault" }>;

/** The lanes of the subscriptions that have work, and what is known of those that had some lately. */
export class OpenLanes {
  readonly hosts = new Hosts<Lane>();
  readonly pools: Record<Speed, Pool<Lane>>;
  readonly #queue: Pick<Queue, "deliveryRecord">;
  readonly #backoffBaseMs: number;
  readonly #open = new Map<string, Lane>();
  /** Lanes that have closed, in the order in which they did. */
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

  /** All that are open. */
  [Symbol.iterator](): IterableIterator<Lane> {
    return this.#open.values();
  }

  /** The subscription's lane, opened where it is not; undefined when there is no such subscription. */
  of(subscriptionId: string): Lane | undefined {
    const open = this.#open.get(subscriptionId);
    if (open) return open;
    const lane = this.#closed.get(subscriptionId) ?? this.#new(subscriptionId);
    if (!lane) return undefined;
    this.#closed.delete(subscriptionId);
    lane.pool = this.pools[lane.record.speed];
    this.#open.set(subscriptionId, lane);
    return lane;
  }

  /** Closes a lane that has nothing to do. Its record is kept until a new one would say the same. */
  close(lane: Lane): void {
    this.#open.delete(lane.subscriptionId);
    this.#closed.set(lane.subscriptionId, lane);
    const now = performance.now();
    for (const [id, { record }] of this.#closed) {
      if (!record.isSpent(now)) break;
      this.#closed.delete(id);
    }
  }

  /** Whether the pool has room for another attempt of a lane that has some under way, once the slow have left it. */
  findRoom(lane: Lane, later: () => void): boolean {
    if (hasRoomFor(lane)) return true;
    this.giveUpSlow(lane.pool, later);
    return hasRoomFor(lane);
  }

  /** Has the attempts in the pool that turn out slow give their places up; `later` is called when more of them may. */
  giveUpSlow(pool: Pool<Lane>, later: () => void): void {
    const { slow } = this.pools;
    if (pool !== slow) pool.giveUpSlow(slow, performance.now(), later);
  }

  /** Has the lane ask for its share. */
  wake(lane: Lane): void {
    if (lane.timer !== undefined) clearTimeout(lane.timer);
    lane.timer = undefined;
    lane.pool.wake(lane, lane.record.atOnce > 1);
  }

  /** Keeps what an attempt has shown of the receiver. A lane whose receiver has become quick leaves those that hang. */
  note(lane: Lane, ended: Shown): void {
    const { record } = lane;
    const now = performance.now();
    record.ended(ended, now);
    if (ended.kind === "failed" && ended.isCounted) record.failed(ended.failures, now);
    const pool = this.pools[record.speed];
    if (lane.pool === pool) return;
    lane.pool.rest(lane);
    if (lane.turn) lane.pool.leave(lane.turn);
    lane.turn = undefined;
    lane.pool = pool;
  }

  /** A receiver that was doing well before the server started is taken to do so still. */
  #new(subscriptionId: string): Lane | undefined {
    const record = this.#queue.deliveryRecord(subscriptionId);
    if (!record) return undefined;
    const { teamId, url, failures, hasSucceeded } = record;
    const speed = hasSucceeded && failures === 0 ? "quick" : "new";
    return {
      subscriptionId,
      teamId,
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
      isResting: false,
      timer: undefined,
    };
  }
}

function hasRoomFor({ inFlight, pool, teamId }: Lane): boolean {
  return inFlight.size < pool.share(teamId, atOnceMax) && pool.hasRoomForMore(teamId);
}
