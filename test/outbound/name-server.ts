import { createSocket } from "node:dgram";

/**
 * A DNS server that answers every name with one IPv4 address, but knows none that begins with `missing` and is silent
 * about those that begin with `hangs`.
 */
export type NameServer = AsyncDisposable & { readonly port: number };

/** Listens on a free port of this machine. */
export async function nameServer(address: string): Promise<NameServer> {
  const socket = createSocket("udp4");
  socket.on("message", (query, { address: asker, port }) => {
    // After twelve bytes of header come the labels, each with its length before it, then the type and the class.
    let end = 12;
    while (query[end]) end += (query[end] ?? 0) + 1;
    const name = query.subarray(13, end).toString("latin1");
    if (name.startsWith("hangs")) return;
    const isKnown = !name.startsWith("missing");
    const hasAddress = isKnown && query.readUInt16BE(end + 1) === 1;
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(isKnown ? 0x8180 : 0x8183, 2);
    header.writeUInt16BE(hasAddress ? 1 : 0, 6);
    header.writeUInt16BE(0, 10);
    const record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)];
    const answer = Buffer.from(hasAddress ? record : []);
    socket.send(Buffer.concat([header, query.subarray(12, end + 5), answer]), port, asker);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return {
    port: socket.address().port,
    [Symbol.asyncDispose]: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}
