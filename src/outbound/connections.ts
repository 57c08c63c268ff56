import { constants } from "node:crypto";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { descriptorShares } from "../system/descriptors.ts";
import { hostNameOf } from "./address-guard.ts";

/** Shorter than receivers keep an idle connection, five seconds for many, so that few close while a request is sent. */
const restMaxMs = 4_000;

/** However busy a connection is, after this a new one is opened and the certificate checked anew. */
const ageMaxMs = 60_000;

/** How many rest at once, over all destinations, where there are descriptors for them. */
const restingMost = 120;

/** So many resting connections Bun keeps for each set of TLS options; the next one closes the oldest of them. */
const poolSize = 64;

/** Further sets of options, to have a pool each. They differ in what they forbid, and Bun offers none of it anyway. */
const { SSL_OP_NO_TLSv1: noTls10, SSL_OP_NO_TLSv1_1: noTls11 } = constants;
const pools = [0, noTls10, noTls11, noTls10 | noTls11];

/** Deliveries that differ in any of these never share a connection. */
export type Destination = {
  /**
   * All of it and not its host alone. A receiver can send its next answer ahead of the question, and nobody else's
   * delivery must be there to take it: behind one host, each path may be somebody else's.
   */
  url: URL;
  /** The one that the address guard let through for this very attempt. */
  address: string;
  /** Certificates of an authority to trust instead of the usual ones, in PEM. */
  ca?: string | undefined;
};

/**
 * An encrypted connection for one request at a time. Bun does not say which connection it takes for a request, so each
 * has a session to itself, and sessions share none. Bun has the certificate checked once for each handshake: so the
 * checks tell whether a request had a new connection.
 */
export class Connection {
  readonly id: string;
  /** Connections that are alike in it have their pools in common. */
  readonly identity: string;
  /** One of `pools`. */
  readonly pool: number;
  restsSince = 0;
  readonly #session: Bun.FetchSession;
  #handshakes = 0;
  #handshakesBefore = 0;
  #goodUntil = 0;

  constructor(destination: Destination, pool: number) {
    this.id = idOf(destination);
    this.identity = identityOf(destination);
    this.pool = pool;
    this.#session = new Bun.FetchSession({
      tls: this.#tlsOptions(destination),
      keepAlive: { idleTimeout: restMaxMs / 1000, maxIdleSockets: 1 },
    });
  }

  /** `fetch` over this connection. It is opened for the first request, and anew where Bun has seen it close since. */
  async fetch(url: string, request: BunFetchRequestInit): Promise<Response> {
    this.#handshakesBefore = this.#handshakes;
    return await this.#session.fetch(url, request);
  }

  /** Whether the latest request was sent, if at all, over a connection that an earlier one had opened. */
  get wasReused(): boolean {
    return this.#handshakesBefore > 0 && this.#handshakes === this.#handshakesBefore;
  }

  /** Whether it may be used again: it has not rested or lasted too long, and the certificate is still valid. */
  isGood(now: number): boolean {
    return now - this.restsSince < restMaxMs && now < this.#goodUntil;
  }

  close(): void {
    this.#session.close();
  }

  #tlsOptions({ url, ca }: Destination): BunFetchRequestInitTLS {
    const name = hostNameOf(url);
    return {
      // Asked for in the handshake and looked for in the certificate. Without it Bun takes the host of the URL, which
      // is right only when the subscription names an address.
      ...(name !== undefined && { serverName: name }),
      // Said even though it is the default: NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment changes the default.
      rejectUnauthorized: true,
      checkServerIdentity: (asked, certificate) => {
        this.#handshakes++;
        this.#goodUntil = Math.min(Date.now() + ageMaxMs, Date.parse(certificate.valid_to));
        return checkIdentity(asked, certificate);
      },
      ...(ca !== undefined && { ca }),
      ...(this.pool > 0 && { secureOptions: this.pool }),
    };
  }
}

/** All encrypted connections: those with a request under way, and those that rest between two deliveries. */
export class KeptConnections {
  readonly #open = new Set<Connection>();
  /** In the order in which they came to rest. */
  readonly #resting: Connection[] = [];
  #restingMax: number | undefined;

  /** Takes out the one to this destination that was used last, if there is one that is still good. */
  take(destination: Destination): Connection | undefined {
    const now = Date.now();
    const id = idOf(destination);
    while (true) {
      const place = this.#resting.findLastIndex((connection) => connection.id === id);
      const [connection] = place === -1 ? [] : this.#resting.splice(place, 1);
      if (connection === undefined || connection.isGood(now)) return connection;
      this.close(connection);
    }
  }

  /** A new one, to be closed or kept in the end. */
  open(destination: Destination): Connection {
    const identity = identityOf(destination);
    const alike = [...this.#open].filter((connection) => connection.identity === identity);
    const hasRoom = (pool: number) =>
      alike.filter((connection) => connection.pool === pool).length < poolSize;
    const connection = new Connection(destination, pools.find(hasRoom) ?? 0);
    this.#open.add(connection);
    return connection;
  }

  /** Keeps one whose latest answer was read to its end. */
  keep(connection: Connection): void {
    connection.restsSince = Date.now();
    this.#resting.push(connection);
    const [oldest] = this.#resting;
    this.#restingMax ??= Math.min(restingMost, descriptorShares().deliveries);
    if (oldest && (this.#resting.length > this.#restingMax || !oldest.isGood(connection.restsSince))) {
      this.#resting.shift();
      this.close(oldest);
    }
  }

  /** Closes one that was taken or opened. */
  close(connection: Connection): void {
    this.#open.delete(connection);
    connection.close();
  }
}

function idOf(destination: Destination): string {
  return `${destination.address} ${destination.url.href} ${destination.ca}`;
}

function identityOf({ url, ca }: Destination): string {
  return `${hostNameOf(url)} ${ca}`;
}

/** The usual check, kept from falling back to the common name, which RFC 9525 forbids and public authorities gave up. */
function checkIdentity(name: string, certificate: PeerCertificate): Error | undefined {
  return checkServerIdentity(name, { ...certificate, subject: { ...certificate.subject, CN: "" } });
}
