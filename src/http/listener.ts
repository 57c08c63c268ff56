import type { DescriptorReserve } from "../descriptors.ts";
import type { Log } from "../log.ts";

type Server = Bun.Server<undefined>;

/** How often it looks whether there are descriptors left, in milliseconds. */
const lookEveryMs = 100;

/**
 * After so many looks in which no descriptor was free, and no connection at rest, it hangs up on all who have not asked:
 * sooner where none of them waits for an answer of ours, for that may be what takes long.
 */
const looksWithoutRoomMax = { asked: 20, unasked: 2 };

/** How long it takes no connections then, so that deliveries come to their descriptors, in milliseconds. */
const restMs = 250;

/** However few descriptors are free, it listens again after so long: what holds them is not its clients then. */
const restMaxMs = 10_000;

/** How often it is said that descriptors are short, in milliseconds. */
const sayEveryMs = 60_000;

/** Whoever has asked nothing for so long is not connected any more: Bun has closed the connection as idle. */
const keptAliveMaxMs = 15_000;

/** How long a stop goes on telling clients to close their connections: until none has asked for the first, at most the second. */
const quietMs = 200;
const tellMaxMs = 1_000;

/** How long a stop waits for a request of which only a part has come, in milliseconds. */
const headWaitMs = 1_000;

/**
 * Listens at one address, keeps its connections from taking all descriptors, and stops without cutting off anybody who
 * has asked. Bun has no bound for connections and accepts until the system refuses, so a reserve is held back from them.
 * When the rest is used up, connections at rest are closed; where that is not enough, because nobody ever ends his
 * request, the address is left and taken anew: all that has been asked is answered, and all others are hung up on.
 */
export class Listener {
  readonly port: number;
  /** Set by whoever answers: when the latest request came, as `performance.now()` has it. */
  latestRequestAt = -Infinity;
  /** From a stop on: each answer has to say `Connection: close`. */
  isStopping = false;
  readonly #open: (port: number) => Server;
  readonly #reserve: DescriptorReserve;
  readonly #log: Log;
  /** Undefined while no connections are taken. */
  #server: Server | undefined;
  /** Those that answer what they were asked before the address was left. */
  readonly #leaving = new Set<Server>();
  #looksWithoutRoom = 0;
  #leftAt = 0;
  #saidAt = -Infinity;
  readonly #timer: Timer;

  /** @throws what `open` throws, the operating system's error when the address is taken for one. */
  constructor(port: number, open: (port: number) => Server, reserve: DescriptorReserve, log: Log) {
    this.#open = open;
    this.#reserve = reserve;
    this.#log = log;
    this.#server = open(port);
    this.port = this.#server.port ?? port;
    reserve.hold();
    this.#timer = setInterval(() => this.#look(), lookEveryMs);
  }

  /**
   * Tells clients to close their connections with their next answer, for a second at most, then takes no more
   * connections, closes those at rest and waits for the requests under way.
   */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.#tellClients();
    clearInterval(this.#timer);
    this.#reserve.letGo();
    if (this.#server) this.#leaving.add(this.#server);
    await Promise.all([...this.#leaving].map((server) => finish(server)));
  }

  async #tellClients(): Promise<void> {
    const begunAt = performance.now();
    if (begunAt - this.latestRequestAt > keptAliveMaxMs) return;
    let now = begunAt;
    while (now - Math.max(begunAt, this.latestRequestAt) < quietMs && now - begunAt < tellMaxMs) {
      await Bun.sleep(quietMs / 10);
      now = performance.now();
    }
  }

  #look(): void {
    for (const server of this.#leaving) this.#hangUpWhenAnswered(server);
    if (this.#server === undefined) return this.#listenAgain();
    if (this.#reserve.hold()) {
      this.#looksWithoutRoom = 0;
      return;
    }
    this.#say();
    if (this.#server.closeIdleConnections() > 0) return;
    this.#looksWithoutRoom++;
    const { asked, unasked } = looksWithoutRoomMax;
    if (this.#looksWithoutRoom >= (this.#server.pendingRequests > 0 ? asked : unasked))
      this.#leave(this.#server);
  }

  #leave(server: Server): void {
    this.#server = undefined;
    this.#looksWithoutRoom = 0;
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
      this.#log.error({ err: error, port: this.port }, "server.not_listening");
      this.#leftAt = performance.now();
    }
  }

  #say(): void {
    const now = performance.now();
    if (now - this.#saidAt < sayEveryMs) return;
    this.#saidAt = now;
    this.#log.warn(
      {
        reason:
          "Connections have taken every file descriptor that is not kept back. Those that ask nothing are closed.",
        kept_back: this.#reserve.size,
      },
      "server.descriptors_short",
    );
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
