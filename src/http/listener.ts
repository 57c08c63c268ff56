import type { DescriptorReserve } from "../system/descriptors.ts";
import type { Log } from "../log/log.ts";
import { originalOf } from "./client-address.ts";

type Server = Bun.Server<undefined>;

/** How often it looks whether there are descriptors left, in milliseconds: rarely while nobody asks anything. */
const lookEveryMs = { busy: 100, idle: 1_000 };

/**
 * After so many looks in which no descriptor was free, no connection at rest and hardly anything asked, it hangs up on
 * all who have not asked: sooner where none of them waits for an answer of ours, for that may be what takes long.
 */
const looksInVainMax = { asked: 20, unasked: 2 };

/** How long it takes no connections then, so that deliveries come to their descriptors, in milliseconds. */
const restMs = 250;

/** However few descriptors are free, it listens again after so long: what holds them is not its clients then. */
const restMaxMs = 2_000;

/** How often the same is said in the log, in milliseconds. */
const sayEveryMs = 60_000;

/** What the log says when clients have to be turned away. */
const shortage =
  "Connections have taken every file descriptor that is not kept back: those that ask nothing are closed. " +
  "More are to be had with ulimit -n, LimitNOFILE in a unit of systemd.";

/** Whoever has asked nothing for so long is not connected any more: Bun has closed the connection as idle. */
const keptAliveMaxMs = 15_000;

/**
 * A stop goes on telling clients to close their connections until none has asked in so many turns in a row, at most for
 * so many in all. Turns and not a time, in which a machine that is held up would have read nothing.
 */
const turnMs = 20;
const quietTurns = 10;
const tellingTurnsMax = 50;

/** How long a stop waits for a request of which only a part has come, in milliseconds. */
const headWaitMs = 1_000;

/**
 * Listens at one address, keeps its connections from taking all descriptors, and stops without cutting off anybody who
 * has asked. Bun has no bound for connections and accepts until the system refuses, so a reserve is held back from them.
 * When the rest is used up, connections are closed with their next answer, and those at rest at once; where that makes no
 * room, because nobody ever ends his request, the address is left and taken anew: all that has been asked is answered,
 * and all others are hung up on.
 */
export class Listener {
  readonly port: number;
  /** Before a stop, and while descriptors are short: each answer has to say `Connection: close`. */
  endsConnections = false;
  readonly #open: (port: number) => Server;
  readonly #reserve: DescriptorReserve;
  readonly #log: Log;
  /** Undefined while no connections are taken. */
  #server: Server | undefined;
  /** Those that answer what they were asked before the address was left. */
  readonly #leaving = new Set<Server>();
  #looksInVain = 0;
  #requests = 0;
  /** About when the latest request came. */
  #askedAt = -Infinity;
  #leftAt = 0;
  readonly #saidAt = new Map<string, number>();
  #timer: Timer | undefined;
  #isDozing = false;

  /** @throws what `open` throws, the operating system's error when the address is taken for one. */
  constructor(port: number, open: (port: number) => Server, reserve: DescriptorReserve, log: Log) {
    this.#open = open;
    this.#reserve = reserve;
    this.#log = log;
    this.#server = open(port);
    this.port = this.#server.port ?? port;
    reserve.hold();
    this.#lookIn(lookEveryMs.busy);
  }

  /** To be called for each request. */
  hear(): void {
    this.#requests++;
    if (!this.#isDozing) return;
    clearTimeout(this.#timer);
    this.#lookIn(lookEveryMs.busy);
  }

  /** The address that a request comes from, as the system writes it; undefined where its connection has gone. */
  addressOf(request: Request): string | undefined {
    // Whichever of them is asked knows the requests of all.
    const server = this.#server ?? [...this.#leaving][0];
    return server?.requestIP(originalOf(request))?.address;
  }

  /**
   * Tells clients to close their connections with their next answer, for about a second at most, then takes no more
   * connections, closes those at rest and waits for the requests under way.
   */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isDozing = false;
    await this.#tellClients();
    this.#reserve.letGo();
    if (this.#server) this.#leaving.add(this.#server);
    await Promise.all([...this.#leaving].map((server) => finish(server)));
  }

  async #tellClients(): Promise<void> {
    this.endsConnections = true;
    const now = performance.now();
    this.#takeRequests(now);
    if (now - this.#askedAt > keptAliveMaxMs) return;
    for (let turn = 0, quiet = 0; turn < tellingTurnsMax && quiet < quietTurns; turn++) {
      await Bun.sleep(turnMs);
      quiet = this.#takeRequests(performance.now()) === 0 ? quiet + 1 : 0;
    }
  }

  /** Returns how many came since it was called last. */
  #takeRequests(now: number): number {
    const count = this.#requests;
    this.#requests = 0;
    if (count > 0) this.#askedAt = now;
    return count;
  }

  #lookIn(ms: number): void {
    this.#isDozing = ms === lookEveryMs.idle;
    this.#timer = setTimeout(() => {
      const asked = this.#takeRequests(performance.now());
      this.#look(asked);
      const isIdle = asked === 0 && !this.endsConnections && this.#leaving.size === 0;
      this.#lookIn(isIdle ? lookEveryMs.idle : lookEveryMs.busy);
    }, ms);
  }

  /** `asked`: how many requests have come since the look before. */
  #look(asked: number): void {
    for (const server of this.#leaving) this.#hangUpWhenAnswered(server);
    if (this.#server === undefined) return this.#listenAgain();
    const wasShort = this.endsConnections;
    this.endsConnections = !this.#reserve.hold();
    if (!this.endsConnections || !wasShort) {
      this.#looksInVain = 0;
      return;
    }
    this.#say("server.descriptors_short", { reason: shortage, kept_back: this.#reserve.size });
    if (this.#server.closeIdleConnections() > 0 || asked > this.#reserve.size / 4) return;
    this.#looksInVain++;
    const { pendingRequests } = this.#server;
    if (this.#looksInVain >= looksInVainMax[pendingRequests > 0 ? "asked" : "unasked"])
      this.#leave(this.#server);
  }

  #leave(server: Server): void {
    this.#server = undefined;
    this.#looksInVain = 0;
    this.#leftAt = performance.now();
    this.#leaving.add(server);
    void server.stop().then(() => this.#leaving.delete(server));
    this.#hangUpWhenAnswered(server);
    this.#reserve.letGo();
  }

  /** Who has not sent a whole request by then is not one of those to whom an answer is owed. */
  #hangUpWhenAnswered(server: Server): void {
    if (server.pendingRequests === 0) void server.stop(true);
  }

  #listenAgain(): void {
    const rested = performance.now() - this.#leftAt;
    if (rested < restMs || (!this.#reserve.hold() && rested < restMaxMs)) return;
    try {
      this.#server = this.#open(this.port);
    } catch (error) {
      this.#leftAt = performance.now();
      this.#say("server.not_listening", { err: error, port: this.port });
    }
  }

  #say(event: string, fields: object): void {
    const now = performance.now();
    if (now - (this.#saidAt.get(event) ?? -Infinity) < sayEveryMs) return;
    this.#saidAt.set(event, now);
    this.#log.warn(fields, event);
  }
}

/** Stops it when all requests are answered. One of which only a part has come is waited for, for a second at most. */
async function finish(server: Server): Promise<void> {
  const timer = setInterval(() => {
    if (server.pendingRequests === 0) void server.stop(true);
  }, headWaitMs);
  await server.stop();
  clearInterval(timer);
}
