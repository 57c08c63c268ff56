import { shardCount } from "./shards.ts";

/**
 * What this node owns, and what of that is under way. A shard that is given up ends what is under way first, so that the
 * next owner does not repeat it.
 */
export class OwnedShards {
  readonly #owned = new Set<number>();
  readonly #ending = new Set<number>();
  readonly #underWay = new Uint32Array(shardCount);
  /** Called when a shard that is given up has nothing under way any more. */
  readonly #onEnded: () => void;

  constructor(onEnded: () => void) {
    this.#onEnded = onEnded;
  }

  /** Whether something may begin in the shard. */
  has(shard: number): boolean {
    return this.#owned.has(shard);
  }

  /** Whether this node's session holds the shard. */
  holds(shard: number): boolean {
    return this.#owned.has(shard) || this.#ending.has(shard);
  }

  get owned(): ReadonlySet<number> {
    return this.#owned;
  }

  add(shards: Iterable<number>): void {
    for (const shard of shards) {
      this.#ending.delete(shard);
      this.#owned.add(shard);
    }
  }

  /** Lets nothing begin in the shards any more. */
  giveUp(shards: Iterable<number>): void {
    for (const shard of shards) if (this.#owned.delete(shard)) this.#ending.add(shard);
  }

  /** Takes back those shards that are being given up. Returns whether there were any. */
  takeBack(shards: Iterable<number>): boolean {
    const sizeBefore = this.#owned.size;
    for (const shard of shards) if (this.#ending.delete(shard)) this.#owned.add(shard);
    return this.#owned.size > sizeBefore;
  }

  /** Removes and returns those that were given up and have nothing under way. */
  takeEnded(): number[] {
    const ended = [...this.#ending].filter((shard) => this.#underWay[shard] === 0);
    for (const shard of ended) this.#ending.delete(shard);
    return ended;
  }

  /** Forgets what a lost session held. */
  clear(): void {
    this.#owned.clear();
    this.#ending.clear();
  }

  /** Begins something in the shard, unless this node does not own it. `end` must follow. */
  begin(shard: number): boolean {
    if (!this.#owned.has(shard)) return false;
    this.#underWay[shard]! += 1;
    return true;
  }

  /** Ends what `begin` began. */
  end(shard: number): void {
    this.#underWay[shard]! -= 1;
    if (this.#underWay[shard] === 0 && this.#ending.has(shard)) this.#onEnded();
  }
}
