import type { AddressInfo } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import type { KeyPair } from "../../outbound/certificates.ts";

/** A complete request: the number of its connection and its number on that connection, both counted from 1. */
export type Arrival = { connection: number; nth: number; path: string };

/** What a receiver does with a request. */
export type Answering = (socket: TLSSocket, arrival: Arrival) => void;

/** An HTTPS receiver that leaves its connections open, whatever it responds. */
export type LastingReceiver = AsyncDisposable & {
  readonly port: number;
  /** All requests in the order of arrival. */
  arrivals(): Arrival[];
  /** The server name (SNI) of each connection, false if it had none. */
  serverNames(): (string | false)[];
  /** How many connections are open. */
  openConnections(): number;
};

/** A response whose body names the request that it is for. */
export function answerTo({ connection, nth }: Arrival): string {
  const body = `${connection}.${nth}`;
  return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** Listens on a free port, or on the given one, and responds with `answerTo` by default. */
export async function lastingReceiver(
  pair: KeyPair,
  answering: Answering = (socket, arrival) => socket.write(answerTo(arrival)),
  { address = "127.0.0.1", port = 0 }: { address?: string; port?: number } = {},
): Promise<LastingReceiver> {
  const arrivals: Arrival[] = [];
  const serverNames: (string | false)[] = [];
  const open = new Set<TLSSocket>();
  const server = createServer(pair, (socket) => {
    // The types lack what a server's socket knows about its handshake.
    const connection = serverNames.push((socket as { servername?: string | false }).servername ?? false);
    open.add(socket);
    socket.setNoDelay(true);
    socket.on("close", () => open.delete(socket));
    socket.on("error", () => {});
    let [received, nth] = ["", 0];
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
      const [head = "", body] = received.split("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
      if (body === undefined || body.length < length) return;
      received = received.slice(head.length + 4 + length);
      const arrival = { connection, nth: ++nth, path: head.split(" ")[1] ?? "" };
      arrivals.push(arrival);
      answering(socket, arrival);
    });
  });
  // A client that rejects the certificate breaks the connection.
  server.on("tlsClientError", () => {});
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen(port, address, listening.resolve);
  await listening.promise;
  return {
    port: (server.address() as AddressInfo).port,
    arrivals: () => arrivals,
    serverNames: () => serverNames,
    openConnections: () => open.size,
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      await closed.promise;
    },
  };
}
