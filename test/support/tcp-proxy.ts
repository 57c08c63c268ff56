import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** Passes each connection on to the next of several servers, as a load balancer does: `await using proxy = …`. */
export class TcpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  private constructor(ports: () => readonly number[]) {
    let turn = 0;
    this.#server = createServer((client) => {
      const all = ports();
      const first = turn++;
      this.#pass(
        client,
        all.map((_, step) => all[(first + step) % all.length] ?? 0),
      );
    });
  }

  /** Listens on a free port. `ports` are those of the servers now; one that refuses is passed over. */
  static async start(ports: () => readonly number[]): Promise<TcpProxy> {
    const proxy = new TcpProxy(ports);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(client: Socket, [port, ...others]: number[]): void {
    if (port === undefined) return void client.destroy();
    const server = connect(port, "127.0.0.1");
    let isConnected = false;
    this.#open.add(client).add(server);
    server.once("connect", () => {
      isConnected = true;
      client.on("close", () => server.destroy());
      client.pipe(server).pipe(client);
    });
    server.on("error", () => {});
    client.on("error", () => {});
    client.on("close", () => this.#open.delete(client));
    server.on("close", () => {
      this.#open.delete(server);
      if (isConnected || client.destroyed) client.destroy();
      else this.#pass(client, others);
    });
  }
}
