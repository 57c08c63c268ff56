import { until } from "../conditions.ts";

/** A request as it arrived, with its body as bytes and as text. */
export type Received = {
  method: string;
  /** Including the query. */
  path: string;
  headers: Headers;
  body: Uint8Array;
  text: string;
  /** When its last byte arrived, in milliseconds since 1970. */
  at: number;
};

/** Returns the response to the `nth` request, counted from 1. A promise that never settles makes the endpoint hang. */
export type Answering = (request: Received, nth: number) => Response | Promise<Response>;

/**
 * An endpoint on localhost that records every request and responds by script:
 * `await using receiver = startReceiver()`. It applies no rules of its own, so that a test sees what was really sent.
 */
export class Receiver implements AsyncDisposable {
  readonly #server: Bun.Server<undefined>;
  readonly #requests: Received[] = [];
  /** Can be changed at any time; applies from the next request on. */
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

  /** The requests so far, in the order of arrival. */
  get requests(): readonly Received[] {
    return this.#requests;
  }

  /** Waits until this many requests have arrived, and returns all that have. */
  async received(count: number): Promise<readonly Received[]> {
    const what = () => `${count} requests at the receiver, of which ${this.#requests.length} came`;
    try {
      return await until("as many requests", () => this.#requests.length >= count && this.#requests);
    } catch {
      throw new Error(`Not received: ${what()}.`);
    }
  }

  /** Waits for the request with this number in the order of arrival, counted from 1. */
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

/** Starts a receiver that returns 204 by default. */
export function startReceiver(answer: Answering = () => new Response(null, { status: 204 })): Receiver {
  return new Receiver(answer);
}

/** Returns these statuses in turn, and the last one from then on. */
export function statuses(...list: [number, ...number[]]): Answering {
  return (_request, nth) => new Response(null, { status: list[Math.min(nth, list.length) - 1] ?? list[0] });
}

/** An endpoint that reads the request and never responds. */
export const hang: Answering = () => new Promise(() => {});
