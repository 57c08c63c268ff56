import { constants } from "node:crypto";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { descriptorShares } from "../system/descriptors.ts";
import { hostNameOf } from "./address-guard.ts";
import { usualConcurrency } from "./concurrency.ts";

/**
 * How long a connection stays idle, in milliseconds. Many receivers close idle connections after five seconds, so with
 * a shorter time few are closed just as a request is sent.
 */
const idleMaxMs = 4_000;

/** The lifetime of a connection, in milliseconds: after it the certificate is checked again, however busy it is. */
const ageMaxMs = 60_000;

/** The most idle connections over all destinations, if there are descriptors for them. */
const idleMax = usualConcurrency;

/** How many idle connections Bun keeps for each set of TLS options; one more closes the oldest. */
const poolSize = 64;

/** Distinct sets of TLS options, to get a pool each. They only forbid versions that Bun does not offer anyway. */
const { SSL_OP_NO_TLSv1: noTls10, SSL_OP_NO_TLSv1_1: noTls11 } = constants;
const pools = [0, noTls10, noTls11, noTls10 | noTls11];

/** Where a delivery goes. Deliveries that differ in any of these never share a connection. */
export type Destination = {
  /**
   * The whole URL, not only its host: each path of a host may belong to another owner, and a receiver can send a
   * response before the next request, which another owner's delivery must not receive.
   */
  url: URL;
  /** The address that the address guard has vetted for this attempt. */
  address: string;
  /** All certificate authorities to trust, in PEM; without it the usual ones. */
  ca?: string | undefined;
};

/**
 * An encrypted connection for one request at a time. Bun does not tell which connection it uses for a request, so each
 * connection has its own session; sessions share none. Bun checks the certificate once per handshake, so counting the
 * checks tells whether a request used a new connection.
 */
export class Connection {
  readonly id: string;
  /** Connections with the same identity use the same pools of Bun. */
  readonly identity: string;
  /** The TLS options that select the pool, one of `pools`. */
  readonly pool: number;
  /** When it became idle, in milliseconds since 1970. */
  idleSince = 0;
  readonly #session: Bun.FetchSession;
  #handshakes = 0;
  #handshakesBefore = 0;
  #goodUntil = 0;
  #certificateEndsAt: number | undefined;

  constructor(destination: Destination, pool: number) {
    this.id = idOf(destination);
    this.identity = identityOf(destination);
    this.pool = pool;
    this.#session = new Bun.FetchSession({
      tls: this.#tlsOptions(destination),
      keepAlive: { idleTimeout: idleMaxMs / 1000, maxIdleSockets: 1 },
    });
  }

  /** `fetch` over this connection, which is opened by the first request, and again if Bun has seen it close since. */
  async fetch(url: string, request: BunFetchRequestInit): Promise<Response> {
    this.#handshakesBefore = this.#handshakes;
    return await this.#session.fetch(url, request);
  }

  /** Whether the latest request used, if any, a connection that an earlier request had opened. */
  get wasReused(): boolean {
    return this.#handshakesBefore > 0 && this.#handshakes === this.#handshakesBefore;
  }

  /** When the receiver's certificate ends, in milliseconds since 1970; undefined before the first handshake. */
  get certificateEndsAt(): number | undefined {
    return this.#certificateEndsAt;
  }

  /** Whether it may be reused: it is not idle or open for too long, and its certificate has not expired. */
  isReusable(now: number): boolean {
    return now - this.idleSince < idleMaxMs && now < this.#goodUntil;
  }

  /** Closes the socket, if it is open. */
  close(): void {
    this.#session.close();
  }

  #tlsOptions({ url, ca }: Destination): BunFetchRequestInitTLS {
    const name = hostNameOf(url);
    return {
      // For SNI and for the check of the certificate. Without it Bun uses the host of the URL it connects to, which is
      // right only if the subscription names an address.
      ...(name !== undefined && { serverName: name }),
      // Explicit although it is the default: NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment changes the default.
      rejectUnauthorized: true,
      checkServerIdentity: (asked, certificate) => {
        this.#handshakes++;
        this.#certificateEndsAt = Date.parse(certificate.valid_to);
        this.#goodUntil = Math.min(Date.now() + ageMaxMs, this.#certificateEndsAt);
        return checkIdentity(asked, certificate);
      },
      ...(ca !== undefined && { ca }),
      ...(this.pool > 0 && { secureOptions: this.pool }),
    };
  }
}

/** All encrypted connections: those with a request in flight, and those that are idle between two deliveries. */
export class KeptConnections {
  readonly #open = new Set<Connection>();
  /** In the order in which they became idle. */
  readonly #idle: Connection[] = [];
  #idleMax: number | undefined;

  /** Removes and returns the most recently used idle connection to this destination; undefined if none is reusable. */
  take(destination: Destination): Connection | undefined {
    const now = Date.now();
    const id = idOf(destination);
    while (true) {
      const index = this.#idle.findLastIndex((connection) => connection.id === id);
      const [connection] = index === -1 ? [] : this.#idle.splice(index, 1);
      if (connection === undefined || connection.isReusable(now)) return connection;
      this.close(connection);
    }
  }

  /** Returns a new connection, which the caller must pass to `keep` or `close` in the end. */
  open(destination: Destination): Connection {
    const identity = identityOf(destination);
    const similar = [...this.#open].filter((connection) => connection.identity === identity);
    const hasRoom = (pool: number) =>
      similar.filter((connection) => connection.pool === pool).length < poolSize;
    const connection = new Connection(destination, pools.find(hasRoom) ?? 0);
    this.#open.add(connection);
    return connection;
  }

  /** Keeps a connection for reuse. Its latest response must have been read to the end. */
  keep(connection: Connection): void {
    connection.idleSince = Date.now();
    this.#idle.push(connection);
    const [oldest] = this.#idle;
    this.#idleMax ??= Math.min(idleMax, descriptorShares().deliveries);
    if (oldest && (this.#idle.length > this.#idleMax || !oldest.isReusable(connection.idleSince))) {
      this.#idle.shift();
      this.close(oldest);
    }
  }

  /** Closes a connection that `take` or `open` returned. */
  close(connection: Connection): void {
    this.#open.delete(connection);
    connection.close();
  }
}

function idOf(destination: Destination): string {
  return `${destination.address} ${destination.url.href} ${numberOf(destination.ca)}`;
}

function identityOf({ url, ca }: Destination): string {
  return `${hostNameOf(url)} ${numberOf(ca)}`;
}

const authorities: string[] = [];

/** A number in place of all those certificates, which would make each name of a destination hundreds of KiB long. */
function numberOf(ca: string | undefined): number {
  if (ca === undefined) return -1;
  const known = authorities.indexOf(ca);
  return known === -1 ? authorities.push(ca) - 1 : known;
}

/** The standard check without its fallback to the common name, which RFC 9525 forbids and public CAs abandoned. */
function checkIdentity(name: string, certificate: PeerCertificate): Error | undefined {
  return checkServerIdentity(name, { ...certificate, subject: { ...certificate.subject, CN: "" } });
}
