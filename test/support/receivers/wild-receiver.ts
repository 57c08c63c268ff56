import { createHmac } from "node:crypto";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { until } from "../conditions.ts";
import type { Random } from "../../crash/random.ts";

/** What a receiver can do with a request instead of accepting it. */
export const misdeeds = ["fail", "hang", "redirect", "reset", "garble", "dawdle"] as const;

export type Misdeed = (typeof misdeeds)[number];

/** How often a receiver misbehaves for one event at most, so that the waits between attempts stay within seconds. */
const misdeedsPerEvent = 5;

/** The probability that it misbehaves on a request. */
const wildness = 0.6;

const taken = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
const statuses = ["400 Bad Request", "410 Gone", "429 Too Many Requests", "500 Internal", "503 Unavailable"];

/** A delivered event: the body of its first request, and how many requests have delivered it. */
type Delivered = { body: string; requests: number };

/**
 * A receiver that speaks raw TCP and misbehaves at random, until it is `isTame`. It counts every complete request, and
 * records as a fault anything that no receiver should ever get.
 */
export class WildReceiver implements AsyncDisposable {
  readonly delivered = new Map<string, Delivered>();
  readonly faults: string[] = [];
  /** How often it has misbehaved, by event. */
  readonly misdeedsOf = new Map<string, number>();
  /** The signing secret, as returned when the subscription was created. */
  secret = "";
  isTame = false;
  readonly #misdeeds: readonly Misdeed[];
  readonly #random: Random;
  readonly #redirect: string;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  /** The remote port of the latest connection. */
  #newest: number | undefined;

  private constructor(misdeeds: readonly Misdeed[], random: Random, redirect: string) {
    this.#misdeeds = misdeeds;
    this.#random = random;
    this.#redirect = redirect;
    this.#server = createServer((socket) => this.#meet(socket));
  }

  /** Listens on a free port. `redirect` is where its redirects lead. */
  static async start(misdeeds: readonly Misdeed[], random: Random, redirect = ""): Promise<WildReceiver> {
    const receiver = new WildReceiver(misdeeds, random, redirect);
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  /** Waits until every request that a server sent before it died has been read to its end. */
  async quiet(): Promise<void> {
    // Connections arrive in the order in which they were opened, so this one is the last.
    const last = connect((this.#server.address() as AddressInfo).port, "127.0.0.1");
    await until(
      "the last connection has come",
      () => last.localPort !== undefined && this.#newest === last.localPort,
    );
    last.destroy();
    await until("every connection has ended", () => this.#open.size === 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #meet(socket: Socket): void {
    let received = Buffer.alloc(0);
    this.#open.add(socket);
    this.#newest = socket.remotePort;
    socket.on("close", () => this.#open.delete(socket));
    // The other side may be killed at any moment.
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      const endOfHead = received.indexOf("\r\n\r\n");
      if (endOfHead < 0) return;
      const head = received.subarray(0, endOfHead).toString("latin1");
      const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1]);
      const body = received.subarray(endOfHead + 4);
      if (body.length > length) this.faults.push(`more than one request on a connection: ${head}`);
      if (body.length === length) this.#take(socket, head, body);
    });
  }

  #take(socket: Socket, head: string, body: Buffer): void {
    const id = this.#check(head, body);
    const text = body.toString();
    const before = this.delivered.get(id);
    if (before && before.body !== text) this.faults.push(`another payload for ${id}: ${text}`);
    this.delivered.set(id, { body: text, requests: (before?.requests ?? 0) + 1 });

    const misdeedsBefore = this.misdeedsOf.get(id) ?? 0;
    const behaves = this.isTame || misdeedsBefore >= misdeedsPerEvent || this.#random.fraction() >= wildness;
    if (behaves) return void socket.end(taken);
    this.misdeedsOf.set(id, misdeedsBefore + 1);
    this.#misbehave(socket, this.#random.pick(this.#misdeeds));
  }

  /** Checks the request for everything that a receiver may rely on, and returns the event's id. */
  #check(head: string, body: Buffer): string {
    const header = (name: string) => new RegExp(`^${name}: (.*)$`, "im").exec(head)?.[1]?.trim() ?? "";
    const { id, type } = JSON.parse(body.toString()) as { id: string; type: string };
    const [, time = "", digest = ""] =
      /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header("x-service-signature")) ?? [];
    const expected = createHmac("sha256", this.secret).update(`${time}.`).update(body).digest("hex");
    const ageSeconds = Math.abs(Date.now() / 1000 - Number(time));
    if (digest !== expected || ageSeconds > 300) this.faults.push(`wrongly signed: ${head}`);
    if (header("x-service-delivery") !== id || header("x-service-event") !== type) {
      this.faults.push(`headers of another event than ${id}: ${head}`);
    }
    return id;
  }

  #misbehave(socket: Socket, misdeed: Misdeed): void {
    switch (misdeed) {
      case "fail":
        socket.end(
          `HTTP/1.1 ${this.#random.pick(statuses)}\r\nRetry-After: 0\r\nConnection: close\r\n\r\nno`,
        );
        return;
      case "redirect":
        socket.end(`HTTP/1.1 302 Found\r\nLocation: ${this.#redirect}\r\nConnection: close\r\n\r\n`);
        return;
      case "reset":
        socket.resetAndDestroy();
        return;
      case "garble":
        socket.end("NTTP/0.1 two hundred\r\n\r\n");
        return;
      case "dawdle": {
        const timer = setTimeout(() => socket.end(taken), this.#random.between(10, 150));
        socket.once("close", () => clearTimeout(timer));
        return;
      }
      case "hang":
        return;
    }
  }
}
