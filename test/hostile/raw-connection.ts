import { connect, type Socket } from "node:net";
import { engine } from "../support/engine.ts";
import { type Answer, readAnswer } from "../support/client.ts";
import { until } from "../support/conditions.ts";

/** An answer as it came over the wire. */
export type RawAnswer = { status: number; headers: Headers; body: string };

/** A TCP connection on which a test writes whatever bytes it likes: `using connection = new RawConnection(url)`. */
export class RawConnection implements Disposable {
  /** Fulfilled when the connection has ended, whichever side ended it and however. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  #received = "";
  #isClosed = false;

  /** `from` is the address of this machine that it comes from, where it matters which. */
  constructor(url: string, from?: string) {
    const { hostname, port } = new URL(url);
    // A name may stand for an IPv6 address too, from which no IPv4 address can be reached.
    const host = from === undefined ? hostname : "127.0.0.1";
    this.#socket = connect({
      host,
      port: Number(port),
      ...(from === undefined ? {} : { localAddress: from }),
    });
    this.#socket.setEncoding("latin1");
    this.#socket.on("data", (text) => {
      this.#received += text;
    });
    // A server that cuts an attack short may do so with a reset; it counts as closed.
    this.#socket.on("error", () => {});
    this.closed = new Promise((resolve) => {
      this.#socket.on("close", () => {
        this.#isClosed = true;
        resolve();
      });
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** What has come so far, each byte as the character of its number. */
  get received(): string {
    return this.#received;
  }

  /** Writes text as UTF-8, or bytes as they are. Returns whether there is room for more at once. */
  write(bytes: string | Uint8Array): boolean {
    return this.#socket.write(bytes);
  }

  /** Fulfilled when what was written has left, or the connection is closed. */
  async drained(): Promise<void> {
    await Promise.race([new Promise<void>((resolve) => this.#socket.once("drain", resolve)), this.closed]);
  }

  /** Says that nothing more will be written. */
  end(): void {
    this.#socket.end();
  }

  /** The whole answers that have come so far. */
  answers(): RawAnswer[] {
    return parseAnswers(this.#received, this.#isClosed);
  }

  /** The first `count` answers, waited for; fewer when the connection is closed before. */
  async waitForAnswers(count: number): Promise<RawAnswer[]> {
    await until(`${count} answers or the end`, () => this.isClosed || this.answers().length >= count);
    return this.answers().slice(0, count);
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/**
 * Sends requests from one address, and returns all answers. On SQLite they go at once on one connection. Bun closes a
 * connection on which a request comes while another waits for its answer, as it does on PostgreSQL, so there each goes on
 * one of its own.
 */
export async function exchangeAll(
  url: string,
  requests: readonly string[],
  from?: string,
): Promise<RawAnswer[]> {
  const last = (request: string) => request.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
  if (engine === "sqlite") {
    const texts = requests.map((request, nth) => (nth === requests.length - 1 ? last(request) : request));
    return await exchange(url, texts.join(""), from);
  }
  const rest = [...requests];
  const answers: RawAnswer[] = [];
  const sendRest = async () => {
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
      answers.push(...(await exchange(url, last(next), from)));
    }
  };
  await Promise.all(Array.from({ length: 10 }, sendRest));
  return answers;
}

/** The text of a request. `Content-Length` is the caller's to add. */
export function requestText(line: string, headers: readonly string[] = [], body = ""): string {
  return [line, ...headers, "", body].join("\r\n");
}

/** Sends the bytes on a connection of their own and returns what has come when the server has closed it; `from` as above. */
export async function exchange(url: string, bytes: string | Uint8Array, from?: string): Promise<RawAnswer[]> {
  using connection = new RawConnection(url, from);
  connection.write(bytes);
  await connection.closed;
  return connection.answers();
}

/** The answer to one request that asks for the connection to be closed, held against what all our answers promise. */
export async function ask(
  url: string,
  line: string,
  headers: readonly string[] = [],
  body = "",
): Promise<Answer> {
  const length = body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const host = headers.some((header) => /^host:/i.test(header)) ? [] : ["Host: localhost"];
  const all = [...host, ...headers, ...length, "Connection: close"];
  const [answer] = await exchange(url, requestText(line, all, body));
  if (!answer) throw new Error(`There was no answer to ${line}.`);
  return await asOurs(line, answer);
}

/** Holds the answer against what every answer of our own promises. */
export async function asOurs(request: string, { status, headers, body }: RawAnswer): Promise<Answer> {
  return await readAnswer(request, new Response(body === "" ? null : body, { status, headers }));
}

function parseAnswers(text: string, isClosed: boolean): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  while (rest !== "") {
    const headEnd = rest.indexOf("\r\n\r\n");
    if (headEnd < 0) break;
    const [statusLine = "", ...lines] = rest.slice(0, headEnd).split("\r\n");
    const headers = new Headers(lines.map((line) => splitHeader(line)));
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    const bodyStart = headEnd + 4;
    // Without a length there is no body, or it lasts until the end: all that we know of it then.
    const length = Number(headers.get("content-length") ?? 0);
    if (rest.length < bodyStart + length && !isClosed) break;
    answers.push({ status, headers, body: rest.slice(bodyStart, bodyStart + length) });
    rest = rest.slice(bodyStart + length);
  }
  return answers;
}

function splitHeader(line: string): [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}
