import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import type { KeyPair } from "../../outbound/certificates.ts";

/** An HTTPS receiver that answers every request with 204. */
export type TlsReceiver = AsyncDisposable & {
  readonly port: number;
  /** The server name that each finished handshake asked for, false where it asked for none. */
  serverNames(): (string | false)[];
  /** What was sent over the connections, one text for each request. */
  requests(): string[];
};

/** Listens on a free port and shows this certificate to whoever comes. */
export async function tlsReceiver(pair: KeyPair, address = "127.0.0.1"): Promise<TlsReceiver> {
  const serverNames: (string | false)[] = [];
  const requests: string[] = [];
  const server = createServer(pair, (socket) => {
    // The types leave out what a socket of a server knows about its handshake.
    serverNames.push((socket as { servername?: string | false }).servername ?? false);
    socket.on("error", () => {});
    socket.once("data", (bytes) => {
      requests.push(bytes.toString("latin1"));
      socket.end("HTTP/1.1 204 No Content\r\n\r\n");
    });
  });
  // A client that does not like the certificate breaks off.
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
