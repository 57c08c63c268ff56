import type { Socket } from "bun";

type Side = { other: Socket<Side> | undefined; waiting: Uint8Array[] };

/** A TCP proxy on 127.0.0.1 that can fall silent, as a network does: connections stay open and nothing arrives. */
export type SilentProxy = { port: number; fallSilent: () => void; [Symbol.dispose](): void };

/** Starts a proxy to the port of 127.0.0.1, also for connections that are made while it is silent. */
export function silentProxy(port: number): SilentProxy {
  let isSilent = false;
  const server = Bun.listen<Side>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      async open(socket) {
        socket.data = { other: undefined, waiting: [] };
        if (isSilent) return;
        const other = await Bun.connect<Side>({
          hostname: "127.0.0.1",
          port,
          socket: {
            open: (server) => void (server.data = { other: socket, waiting: [] }),
            data: (_server, bytes) => void (isSilent || socket.write(bytes)),
            close: () => void (isSilent || socket.end()),
          },
        });
        socket.data.other = other;
        for (const bytes of socket.data.waiting) other.write(bytes);
      },
      data({ data }, bytes) {
        if (isSilent) return;
        if (data.other) data.other.write(bytes);
        else data.waiting.push(Uint8Array.from(bytes));
      },
      close: ({ data }) => void (isSilent || data.other?.end()),
    },
  });
  return {
    port: server.port,
    fallSilent: () => void (isSilent = true),
    [Symbol.dispose]: () => server.stop(true),
  };
}
