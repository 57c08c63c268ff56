import type { DescriptorReserve } from "../system/descriptors.ts";
import type { Log } from "../log/log.ts";
import { originalOf } from "./client-address.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";

type Server = Bun.Server<undefined>;

/** The interval between checks for free descriptors, in milliseconds: longer while there are no requests. */
const checkEveryMs = { busy: 100, idle: 1_000 };

/**
 * After this many checks in a row with no free descriptor, no idle connection and hardly any request, the listener
 * drops all connections without a request: sooner when no request is in flight, since a slow response may be the
 * reason.
 */
const failedChecksMax = { asked: 20, unasked: 2 };

/** The time without new connections after that, in milliseconds, in which deliveries get their descriptors. */
const pauseMs = 250;

/** The listener listens again after this time in any case: clients are not what holds the descriptors then. */
const pauseMaxMs = 2_000;

/** The minimum interval between log lines of one kind, in milliseconds. */
const warnEveryMs = 60_000;

/** The reason in the log when connections are dropped. */
const shortage =
  "Connections use every file descriptor that is not reserved: idle ones are closed. " +
  "Raise the limit with ulimit -n, or LimitNOFILE in a systemd unit.";

/** After this time without a request no client is connected: Bun has closed all connections as idle. */
const keptAliveMaxMs = 15_000;

/**
 * A stop sends `Connection: close` until no request has come for `quietTurns` turns in a row, for at most
 * `tellingTurnsMax` turns of `turnMs` milliseconds. Turns rather than a time, since a stalled machine would have read
 * nothing in it.
 */
const turnMs = 20;
const quietTurns = 10;
const tellingTurnsMax = 50;

/** The time that a stop waits for the rest of a request, in milliseconds. */
const headWaitMs = 1_000;

/**
 * Listens at one address, keeps connections from using all descriptors, and stops without dropping a request. Bun has
 * no limit on connections and accepts until the system refuses, so the listener holds a reserve of descriptors. When
 * the rest is used up, it closes idle connections at once and others with their next response. If that frees nothing,
 * because clients never finish their requests, it stops listening and starts again: requests in flight get their
 * response, and all other connections are dropped.
 */
export class Listener {
  readonly port: number;
  /** Before a stop, and while descriptors are short: each response must carry `Connection: close`. */
  endsConnections = false;
  readonly #open: (port: number) => Server;
  readonly #reserve: DescriptorReserve;
  readonly #log: Log;
  readonly #proxies: TrustedProxies | undefined;
  /** Undefined while no connections are accepted. */
  #server: Server | undefined;
  /** Servers that no longer listen but still have requests in flight. */
  readonly #closing = new Set<Server>();
  #failedChecks = 0;
  #requests = 0;
  /** The approximate time of the latest request. */
  #askedAt = -Infinity;
  #pausedAt = 0;
  readonly #warnedAt = new Map<string, number>();
  #timer: Timer | undefined;
  #isIdle = false;

  /** @throws what `open` throws, such as the operating system's error when the address is in use. */
  constructor(
    port: number,
    open: (port: number) => Server,
    reserve: DescriptorReserve,
    log: Log,
    proxies?: TrustedProxies,
  ) {
    this.#open = open;
    this.#reserve = reserve;
    this.#log = log;
    this.#proxies = proxies;
    this.#server = open(port);
    this.port = this.#server.port ?? port;
    reserve.hold();
    this.#checkIn(checkEveryMs.busy);
  }

  /** Counts a request: call it for each. */
  countRequest(): void {
    this.#requests++;
    if (!this.#isIdle) return;
    clearTimeout(this.#timer);
    this.#checkIn(checkEveryMs.busy);
  }

  /**
   * Returns the client's address, behind the trusted proxies if there are any; undefined once the client has
   * disconnected.
   */
  addressOf(request: Request): string | undefined {
    // Each server knows the requests of all.
    const server = this.#server ?? [...this.#closing][0];
    const original = originalOf(request);
    const address = server?.requestIP(original)?.address;
    if (address === undefined) return undefined;
    // An IPv6 socket shows IPv4 addresses this way.
    const peer = address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address;
    return this.#proxies ? this.#proxies.clientOf(peer, original.headers) : peer;
  }

  /** Lets the connection of the request be silent for so many seconds, for longer than others. */
  allowSilence(request: Request, seconds: number): void {
    const server = this.#server ?? [...this.#closing][0];
    server?.timeout(originalOf(request), seconds);
  }

  /**
   * Tells clients to close their connections with the next response, for at most about a second, then stops listening,
   * closes idle connections and waits for the requests in flight.
   */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isIdle = false;
    await this.#tellClients();
    this.#reserve.letGo();
    if (this.#server) this.#closing.add(this.#server);
    await Promise.all([...this.#closing].map((server) => finish(server)));
  }

  async #tellClients(): Promise<void> {
    this.endsConnections = true;
    const now = performance.now();
    this.#takeRequestCount(now);
    if (now - this.#askedAt > keptAliveMaxMs) return;
    for (let turn = 0, quiet = 0; turn < tellingTurnsMax && quiet < quietTurns; turn++) {
      await Bun.sleep(turnMs);
      quiet = this.#takeRequestCount(performance.now()) === 0 ? quiet + 1 : 0;
    }
  }

  /** Returns the number of requests since the last call, and starts again at 0. */
  #takeRequestCount(now: number): number {
    const count = this.#requests;
    this.#requests = 0;
    if (count > 0) this.#askedAt = now;
    return count;
  }

  #checkIn(ms: number): void {
    this.#isIdle = ms === checkEveryMs.idle;
    this.#timer = setTimeout(() => {
      const asked = this.#takeRequestCount(performance.now());
      this.#check(asked);
      const isIdle = asked === 0 && !this.endsConnections && this.#closing.size === 0;
      this.#checkIn(isIdle ? checkEveryMs.idle : checkEveryMs.busy);
    }, ms);
  }

  /** `asked` is the number of requests since the previous check. */
  #check(asked: number): void {
    for (const server of this.#closing) this.#dropWhenAnswered(server);
    if (this.#server === undefined) return this.#listenAgain();
    const wasShort = this.endsConnections;
    this.endsConnections = !this.#reserve.hold();
    if (!this.endsConnections || !wasShort) {
      this.#failedChecks = 0;
      return;
    }
    this.#warn("server.descriptors_short", { reason: shortage, kept_back: this.#reserve.size });
    if (this.#server.closeIdleConnections() > 0 || asked > this.#reserve.size / 4) return;
    this.#failedChecks++;
    const { pendingRequests } = this.#server;
    if (this.#failedChecks >= failedChecksMax[pendingRequests > 0 ? "asked" : "unasked"])
      this.#stopListening(this.#server);
  }

  #stopListening(server: Server): void {
    this.#server = undefined;
    this.#failedChecks = 0;
    this.#pausedAt = performance.now();
    this.#closing.add(server);
    void server.stop().then(() => this.#closing.delete(server));
    this.#dropWhenAnswered(server);
    this.#reserve.letGo();
  }

  /** Drops connections without a complete request, once all others have their response. */
  #dropWhenAnswered(server: Server): void {
    if (server.pendingRequests === 0) void server.stop(true);
  }

  #listenAgain(): void {
    const paused = performance.now() - this.#pausedAt;
    if (paused < pauseMs || (!this.#reserve.hold() && paused < pauseMaxMs)) return;
    try {
      this.#server = this.#open(this.port);
    } catch (error) {
      this.#pausedAt = performance.now();
      this.#warn("server.not_listening", { err: error, port: this.port });
    }
  }

  #warn(event: string, fields: object): void {
    const now = performance.now();
    if (now - (this.#warnedAt.get(event) ?? -Infinity) < warnEveryMs) return;
    this.#warnedAt.set(event, now);
    this.#log.warn(fields, event);
  }
}

/** Stops the server once all requests have a response; an incomplete request has a second to arrive. */
async function finish(server: Server): Promise<void> {
  const timer = setInterval(() => {
    if (server.pendingRequests === 0) void server.stop(true);
  }, headWaitMs);
  await server.stop();
  clearInterval(timer);
}
