import { type AddressInfo, createServer, type Socket } from "node:net";

/** A listener that speaks raw TCP, so that it can respond in ways that no HTTP server would. */
export type RawReceiver = AsyncDisposable & {
  readonly port: number;
  /** How many connections there have been. */
  connections(): number;
  /** How many connections are still open. */
  openConnections(): number;
  /** What was sent over each connection, in the order of the connections. */
  received(): string[];
};

/** Listens on a free port, or on the given one, and calls `behave` for every connection. */
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
    // The other side may have gone already, which is what many of the tests are about.
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

/** Responds to the first bytes of a request with these, and leaves the connection open. */
export function answering(bytes: string | Uint8Array): (socket: Socket) => void {
  return (socket) => socket.once("data", () => socket.write(bytes));
}

/** A complete response without a body. */
export const noContent = answering("HTTP/1.1 204 No Content\r\n\r\n");

/**
 * Responds to each request, one connection at a time, as a program of one thread does that leaves connections open: the
 * next connection is served once the one before it is closed.
 */
export function inTurn(bytes: string): (socket: Socket) => void {
  let before = Promise.resolve();
  return (socket) => {
    const turn = before;
    before = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.on("data", () => void turn.then(() => socket.write(bytes)));
  };
}

/** Responds with `head` and then with `chunk` repeatedly, as fast as the other side reads. */
export function flooding(head: string, chunk: string | Uint8Array): (socket: Socket) => void {
  return (socket) => {
    // One chunk per turn of the event loop, which the sender and its timeout share.
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

/** Responds with `head` and then with `drop` every 20 ms. */
export function dripping(head: string, drop: string): (socket: Socket) => void {
  return (socket) => {
    socket.once("data", () => {
      socket.write(head);
      const timer = setInterval(() => socket.write(drop), 20);
      socket.once("close", () => clearInterval(timer));
    });
  };
}
