import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import type { KeyPair } from "../../outbound/certificates.ts";

/** An HTTPS receiver that answers every request with 204. */
export type TlsReceiver = AsyncDisposable & {
  readonly port: number;
  /** The server name (SNI) of each completed handshake, false if it had none. */
  serverNames(): (string | false)[];
  /** What was sent over the connections, one string for each request. */
  requests(): string[];
};

/** Listens on a free port and presents this certificate to every client. */
export async function tlsReceiver(pair: KeyPair, address = "127.0.0.1"): Promise<TlsReceiver> {
  const serverNames: (string | false)[] = [];
  const requests: string[] = [];
  const server = createServer(pair, (socket) => {
    // The types lack what a server's socket knows about its handshake.
    serverNames.push((socket as { servername?: string | false }).servername ?? false);
    socket.on("error", () => {});
    socket.once("data", (bytes) => {
      requests.push(bytes.toString("latin1"));
      socket.end("HTTP/1.1 204 No Content\r\n\r\n");
    });
  });
  // A client that rejects the certificate breaks the connection.
  server.on("tlsClientError", () => {});
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen(0, address, listening.resolve);
  await listening.promise;
  return {
    port: (server.address() as AddressInfo).port,
    serverNames: () => serverNames,
    requests: () => requests,
    [Symbol.asyncDispose]: async () => {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      await closed.promise;
    },
  };
}
