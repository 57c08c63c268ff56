import { hostname } from "node:os";
import type { Connections } from "../database/postgres/connections.ts";
import { requireHere } from "../database/postgres/here.ts";
import { joinServers } from "../database/postgres/migrate.ts";
import type { Session } from "../database/postgres/session.ts";
import { DomainError, type ErrorCode } from "../errors.ts";
import type { Log } from "../log/log.ts";
import { followClock } from "../system/workspace-clock.ts";
import { version } from "../version.ts";
import type { NodeListener } from "./node-listener.ts";
import { listenToNotices, sayNow, WorkNotices } from "./notices.ts";
import { OwnedShards } from "./owned-shards.ts";
import { Pause } from "./pause.ts";
import { Readers } from "./readers.ts";
import { ownersOf, shardCount, shardOf } from "./shards.ts";
import {
  beginSoleTask,
  claimShards,
  deleteEndedNodes,
  endSession,
  endSoleTask,
  insertNode,
  type NodeRow,
  releaseShards,
  selectHeldShards,
  selectNodes,
  type SoleTask,
  updateLeaving,
  updateSeen,
} from "./store.ts";

/** How often a node looks at the others, in milliseconds. */
const lookMs = 2_000;

/** After this long a node that is silent although its session lasts is taken for one that hangs, in milliseconds. */
const silentMsMax = 20_000;

/** A shard that its owner does not take is taken by another after so many looks. */
const looksBeforeTaking = 5;

/** How often work that nobody was told of is looked for, in looks. */
const looksPerWorkLook = 15;

/** For so many looks after a node has ended, a statement of its may still be carried out: the database gives it 10 s. */
const looksOfLateWork = 6;

/** A newer version has changed the tables, or the workspace is elsewhere. */
const mustEnd: ReadonlySet<ErrorCode> = new Set(["data_too_new", "not_found"]);

/**
 * This server among those of the workspace. Each has a session, with a row in `nodes` and advisory locks: one says that
 * the node is alive, the others which shards of subscriptions it owns. A node whose session is lost owns nothing, at
 * once, and begins anew; what it owned is taken by others at their next look.
 */
export class Node {
  readonly #connections: Connections;
  readonly #log: Log;
  readonly #id = Bun.randomUUIDv7();
  readonly #shards = new OwnedShards(() => this.#pause.end());
  readonly #notices: WorkNotices;
  readonly readers: Readers;
  #listener: NodeListener | undefined;
  #about: Pick<NodeRow, "url" | "delivers"> = { url: "", delivers: false };
  #session: Session | undefined;
  #number = 0;
  /** The ids of the nodes that deliver, as they were seen last, and which of them should own each shard. */
  #deliverers = "";
  #owners: Array<string | undefined> = [];
  /** For how many looks each shard had no owner. */
  readonly #unowned = new Uint8Array(shardCount);
  #looks = 0;
  readonly #silent = new Set<number>();
  readonly #pause = new Pause();
  #isLeaving = false;
  #hasLeft = false;
  #running: Promise<void> = Promise.resolve();
  #stopListening: () => void = () => {};

  constructor(connections: Connections, log: Log) {
    this.#connections = connections;
    this.#log = log;
    this.#notices = new WorkNotices(connections, (err) => log.warn({ err }, "nodes.notice_lost"));
    this.readers = new Readers(this.#id, this.#notices);
  }

  /**
   * Joins the others, and takes over what it should own; until then it owns nothing. `url` is where this node listens.
   * @throws what `joinServers` throws; the database's error.
   */
  async join(about: Pick<NodeRow, "url" | "delivers">, listener: NodeListener): Promise<void> {
    this.#about = about;
    this.#listener = listener;
    await this.#begin();
    this.#running = this.#run();
    this.#stopListening = listenToNotices(this.#connections, {
      onWork: (keys) => {
        listener.onWorkAnywhere(keys);
        const ours = keys.filter((key) => this.owns(key));
        if (ours.length > 0) listener.onWork(ours);
      },
      onReading: (node, subscriptionId) => this.readers.add(node, subscriptionId),
      onAnyWork: () => listener.onAnyWork(),
      onNodes: () => this.#pause.end(),
    });
  }

  /** Whether this node does what the key names: the deliveries of a subscription, or another task. */
  owns(key: string): boolean {
    return this.#shards.has(shardOf(key));
  }

  /** Begins something that only the owner of the key does. Unless it returns false, `end` must follow. */
  begin(key: string): boolean {
    return this.#shards.begin(shardOf(key));
  }

  /** Ends what `begin` began: only then may another node begin something. */
  end(key: string): void {
    this.#shards.end(shardOf(key));
  }

  /** Tells the owners of the keys that there is work. */
  tell(keys: Iterable<string>): void {
    this.#notices.say(keys);
  }

  /**
   * Does something that one node at a time does. Returns undefined, without doing it, while another does.
   * @throws DomainError `unavailable` while this node has no session.
   */
  async alone<T>(task: SoleTask, work: () => Promise<T>): Promise<T | undefined> {
    const session = this.#session;
    if (!session) throw new DomainError("unavailable", "The session with the database was lost.");
    if (!(await beginSoleTask(session, task))) return undefined;
    try {
      return await work();
    } finally {
      // With a lost session the lock is gone too.
      if (session === this.#session) await endSoleTask(session, task).catch(() => {});
    }
  }

  /** Lets nothing begin any more, and hands over what has ended, and from then on whatever ends. */
  beginLeaving(): void {
    this.#isLeaving = true;
    this.#shards.giveUp([...this.#shards.owned]);
    this.#pause.end();
  }

  /** Leaves the others. Whatever it still holds is theirs. */
  async leave(): Promise<void> {
    this.beginLeaving();
    this.#hasLeft = true;
    this.#stopListening();
    await this.#running;
    this.#drop();
    await sayNow(this.#connections, "nodes").catch(() => {});
  }

  async #run(): Promise<void> {
    while (!this.#hasLeft) {
      await this.#pause.wait(lookMs);
      try {
        if (this.#isLeaving) await this.#handOver();
        else if (this.#session) await this.#look(this.#session);
        else await this.#begin();
      } catch (err) {
        if (err instanceof DomainError && mustEnd.has(err.code)) this.#listener?.onTooOld(err);
        else this.#log.error({ err }, "nodes.look_failed");
        // What the session holds by now is uncertain.
        this.#drop();
      }
    }
  }

  async #handOver(): Promise<void> {
    const session = this.#session;
    if (!session) return;
    await updateLeaving(session, this.#number);
    await this.#release(session);
  }

  async #begin(): Promise<void> {
    const session = await this.#connections.session();
    try {
      await joinServers(session);
      // It may have been moved while this node had no session.
      await requireHere(session.query.bind(session));
      this.#number = await insertNode(session, {
        ...this.#about,
        id: this.#id,
        hostName: hostname(),
        version,
        pid: process.pid,
      });
      session.onLost((err) => {
        if (session !== this.#session) return;
        this.#drop();
        this.#log.warn({ err }, "nodes.session_lost");
        this.#pause.end();
      });
      this.#session = session;
      await sayNow(this.#connections, "nodes");
      await this.#look(session);
    } catch (error) {
      this.#drop();
      session.close();
      throw error;
    }
  }

  /** Ends the session, and with it whatever it holds. */
  #drop(): void {
    const session = this.#session;
    this.#session = undefined;
    this.#shards.clear();
    this.#deliverers = "";
    session?.close();
  }

  async #look(session: Session): Promise<void> {
    const askedAt = performance.now();
    const now = await updateSeen(session, this.#number);
    if (now === undefined) return this.#drop();
    followClock(now, askedAt);
    const [nodes, held] = await Promise.all([selectNodes(session), selectHeldShards(session)]);
    await this.#endSilent(session, nodes);
    if (this.#looks++ % looksPerWorkLook === 0) await deleteEndedNodes(session);
    const hasMet = this.#meet(nodes);
    // What a node that ended had sent may bring work after it was missed, and nobody tells of that.
    if (hasMet) this.#looks = looksPerWorkLook - looksOfLateWork;
    await this.#release(session);
    const hasClaimed = await this.#claim(session, new Set(held.map(({ shard }) => shard)));
    // A node that ended may have had no time to tell of work.
    if (hasMet || hasClaimed || this.#looks % looksPerWorkLook === 0) this.#listener?.onLook();
  }

  /**
   * Takes note of the nodes that are alive, and gives up what one of them should own that has come since. Returns whether
   * any has come or gone.
   */
  #meet(nodes: readonly NodeRow[]): boolean {
    const ids = nodes
      .filter(({ delivers }) => delivers)
      .map(({ id }) => id)
      .sort();
    const deliverers = ids.join(" ");
    if (deliverers === this.#deliverers) return false;
    this.#deliverers = deliverers;
    this.#owners = ownersOf(ids);
    this.#unowned.fill(0);
    this.#shards.giveUp([...this.#shards.owned].filter((shard) => this.#owners[shard] !== this.#id));
    this.#log.info({ nodes: nodes.map(({ url }) => url) }, "nodes.changed");
    const others = [...new Set(nodes.map((node) => node.version))].filter((other) => other !== version);
    if (others.length > 0) this.#log.warn({ version, others }, "nodes.versions_differ");
    return true;
  }

  async #release(session: Session): Promise<void> {
    const ended = this.#shards.takeEnded();
    if (ended.length === 0) return;
    await releaseShards(session, ended);
    await sayNow(this.#connections, "nodes");
  }

  /** Takes what this node should own, and what nobody takes. Returns whether that was anything. */
  async #claim(session: Session, held: ReadonlySet<number>): Promise<boolean> {
    if (!this.#about.delivers || this.#isLeaving) return false;
    const ours: number[] = [];
    const wanted: number[] = [];
    for (let shard = 0; shard < shardCount; shard++) {
      const looks = held.has(shard) ? 0 : Math.min(looksBeforeTaking, (this.#unowned[shard] ?? 0) + 1);
      this.#unowned[shard] = looks;
      if (this.#owners[shard] === this.#id) ours.push(shard);
      const isOurs = this.#owners[shard] === this.#id || looks === looksBeforeTaking;
      if (isOurs && !this.#shards.holds(shard)) wanted.push(shard);
    }
    const hasTakenBack = this.#shards.takeBack(ours);
    if (wanted.length === 0) return hasTakenBack;
    const claimed = await claimShards(session, wanted);
    if (session !== this.#session) return false;
    this.#shards.add(claimed);
    if (this.#isLeaving) this.beginLeaving();
    return hasTakenBack || claimed.length > 0;
  }

  /** Ends the sessions of nodes that were silent at two looks: a process that is stopped or hangs keeps its session. */
  async #endSilent(session: Session, nodes: readonly NodeRow[]): Promise<void> {
    const silent = nodes.filter(({ silentMs, number }) => silentMs > silentMsMax && number !== this.#number);
    for (const node of silent) {
      if (!this.#silent.has(node.number)) continue;
      this.#log.warn({ url: node.url, silent_ms: node.silentMs }, "nodes.silent_ended");
      await endSession(session, node);
    }
    this.#silent.clear();
    for (const { number } of silent) this.#silent.add(number);
  }
}
