import { type AddressInfo, createServer, type Socket } from "node:net";

/** A listener that speaks raw TCP, so that it can answer as no HTTP server would. */
export type RawReceiver = AsyncDisposable & {
  readonly port: number;
  /** How many connections there have been. */
  connections(): number;
  /** How many of them are still open. */
  openConnections(): number;
  /** What each connection has sent, in the order in which they came. */
  received(): string[];
};

/** Listens on a free port, or on the given one, and does with every connection what `behave` says. */
export async function rawReceiver(
  behave: (socket: Socket) => void,
  { address = "127.0.0.1", port = 0 }: { address?: string; port?: number } = {},
): Promise<RawReceiver> {
  const sockets = new Map<Socket, string>();
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.set(socket, "");
    open.add(socket);
    socket.on("data", (bytes) => sockets.set(socket, `${sockets.get(socket)}${bytes.toString("latin1")}`));
    socket.on("close", () => open.delete(socket));
    // The other side may be gone already, which is what many of the tests are about.
    socket.on("error", () => {});
    behave(socket);
  });
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen(port, address, listening.resolve);
  await listening.promise;
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => sockets.size,
    openConnections: () => open.size,
    received: () => [...sockets.values()],
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      await closed.promise;
    },
  };
}

/** Answers the first bytes of a request with these, and leaves the connection open. */
export function answering(bytes: string | Uint8Array): (socket: Socket) => void {
  return (socket) => socket.once("data", () => socket.write(bytes));
}

/** A complete answer without a body. */
export const noContent = answering("HTTP/1.1 204 No Content\r\n\r\n");

/** Answers a request with `head` and then with `chunk` over and over, as fast as the other side takes it. */
export function flooding(head: string, chunk: string | Uint8Array): (socket: Socket) => void {
  return (socket) => {
    // One chunk for each turn of the event loop, which it shares with the sender and the sender's timeout.
    const pour = () => {
      if (!socket.destroyed && socket.write(chunk)) setImmediate(pour);
    };
    socket.on("drain", pour);
    socket.once("data", () => {
      socket.write(head);
      pour();
    });
  };
}

/** Answers a request with `head` and then with `drop` every 20 ms. */
export function dripping(head: string, drop: string): (socket: Socket) => void {
  return (socket) => {
    socket.once("data", () => {
      socket.write(head);
      const timer = setInterval(() => socket.write(drop), 20);
      socket.once("close", () => clearInterval(timer));
    });
  };
}
