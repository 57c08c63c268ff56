import { until } from "../conditions.ts";

/** A request as it came: the body's bytes, and its text for a look at it. */
export type Received = {
  method: string;
  /** With the query. */
  path: string;
  headers: Headers;
  body: Uint8Array;
  text: string;
  /** When its last byte was there, in milliseconds since 1970. */
  at: number;
};

/** How the receiver answers its `nth` request, counted from 1. One that never settles is an endpoint that hangs. */
export type Answering = (request: Received, nth: number) => Response | Promise<Response>;

/**
 * An endpoint on this machine that keeps every request and answers by script:
 * `await using receiver = startReceiver()`. It follows no rule of its own, so that a test sees what was really sent.
 */
export class Receiver implements AsyncDisposable {
  readonly #server: Bun.Server<undefined>;
  readonly #requests: Received[] = [];
  /** Can be changed at any time; holds from the next request on. */
  answer: Answering;

  constructor(answer: Answering) {
    this.answer = answer;
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      fetch: async (request) => await this.#receive(request),
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/hook`;
  }

  /** What has come so far, in the order of arrival. */
  get requests(): readonly Received[] {
    return this.#requests;
  }

  /** Waits until so many requests have come, and returns all that have. */
  async received(count: number): Promise<readonly Received[]> {
    const what = () => `${count} requests at the receiver, of which ${this.#requests.length} came`;
    try {
      return await until("as many requests", () => this.#requests.length >= count && this.#requests);
    } catch {
      throw new Error(`Not received: ${what()}.`);
    }
  }

  /** Waits for the request that has this place in the order of arrival, counted from 1. */
  async nth(place: number): Promise<Received> {
    const request = (await this.received(place))[place - 1];
    if (!request) throw new Error("places are counted from 1");
    return request;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }

  async #receive(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const body = await request.bytes();
    const received = {
      method: request.method,
      path: pathname + search,
      headers: request.headers,
      body,
      text: new TextDecoder().decode(body),
      at: Date.now(),
    };
    return await this.answer(received, this.#requests.push(received));
  }
}

/** Starts a receiver that takes everything with 204 unless it is told otherwise. */
export function startReceiver(answer: Answering = () => new Response(null, { status: 204 })): Receiver {
  return new Receiver(answer);
}

/** Answers with these statuses in turn, and with the last one from then on. */
export function statuses(...list: [number, ...number[]]): Answering {
  return (_request, nth) => new Response(null, { status: list[Math.min(nth, list.length) - 1] ?? list[0] });
}

/** An endpoint that takes the request and then says nothing. */
export const hang: Answering = () => new Promise(() => {});
