import { until } from "../conditions.ts";

/** A span as the collector got it. Ids are hexadecimal; `parentId` is empty for the first span of a trace. */
export type CollectedSpan = {
  traceId: string;
  id: string;
  parentId: string;
  name: string;
  kind: "internal" | "server" | "client" | "other";
  isError: boolean;
  attributes: Record<string, unknown>;
  links: Array<{ traceId: string; id: string }>;
  durationNs: bigint;
  service: unknown;
};

/** How the collector responds; a promise that never settles makes it hang. */
type Answering = () => Response | Promise<Response>;

/**
 * A receiver of OTLP over HTTP with protobuf (opentelemetry-proto 1.x), which keeps every span:
 * `await using collector = startCollector()`.
 */
export class Collector implements AsyncDisposable {
  readonly #server: Bun.Server<undefined>;
  readonly #spans: CollectedSpan[] = [];
  /** Each request's path and its `Authorization`. */
  readonly requests: Array<{ path: string; authorization: string | null }> = [];
  /** Can be changed at any time; applies from the next request on. Spans are kept only from requests that get a 2xx. */
  answer: Answering = () => new Response(null, { status: 200 });

  constructor() {
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      fetch: async (request) => await this.#receive(request),
    });
  }

  /** What `PARLEY_OTLP_ENDPOINT` takes. */
  get endpoint(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  /** The spans so far. */
  get spans(): readonly CollectedSpan[] {
    return this.#spans;
  }

  /** Waits for a span, which is sent a moment after it ends. */
  async span(isWanted: (span: CollectedSpan) => boolean): Promise<CollectedSpan> {
    return await until("the collector has such a span", () => this.#spans.find(isWanted));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }

  async #receive(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    this.requests.push({ path: pathname, authorization: request.headers.get("authorization") });
    const body = await request.bytes();
    const response = await this.answer();
    if (response.ok) this.#spans.push(...spansOf(body));
    return response;
  }
}

export function startCollector(): Collector {
  return new Collector();
}

/** The values of a message's fields by number: a number, a bigint, or bytes. */
type Fields = Map<number, Array<bigint | Uint8Array>>;

function spansOf(request: Uint8Array): CollectedSpan[] {
  return messagesIn(fieldsOf(request), 1).flatMap((ofResource) => {
    const [resource = new Map() as Fields] = messagesIn(ofResource, 1);
    const service = attributesOf(resource, 1)["service.name"];
    return messagesIn(ofResource, 2)
      .flatMap((ofScope) => messagesIn(ofScope, 2))
      .map((span) => ({ ...spanOf(span), service }));
  });
}

const kinds = ["other", "internal", "server", "client"] as const;

function spanOf(span: Fields): Omit<CollectedSpan, "service"> {
  const [status = new Map() as Fields] = messagesIn(span, 15);
  return {
    traceId: hex(span, 1),
    id: hex(span, 2),
    parentId: hex(span, 4),
    name: text(span, 5),
    kind: kinds[Number(span.get(6)?.[0] ?? 0)] ?? "other",
    isError: status.get(3)?.[0] === 2n,
    attributes: attributesOf(span, 9),
    links: messagesIn(span, 13).map((link) => ({ traceId: hex(link, 1), id: hex(link, 2) })),
    durationNs: number(span, 8) - number(span, 7),
  };
}

function attributesOf(message: Fields, field: number): Record<string, unknown> {
  return Object.fromEntries(
    messagesIn(message, field).map((pair) => {
      const [value = new Map() as Fields] = messagesIn(pair, 2);
      return [text(pair, 1), value.has(1) ? text(value, 1) : Number(number(value, 3))];
    }),
  );
}

function messagesIn(message: Fields, field: number): Fields[] {
  return (message.get(field) ?? []).map((value) => fieldsOf(value as Uint8Array));
}

function bytes(message: Fields, field: number): Uint8Array {
  return (message.get(field)?.[0] ?? new Uint8Array()) as Uint8Array;
}

function hex(message: Fields, field: number): string {
  return bytes(message, field).toHex();
}

function text(message: Fields, field: number): string {
  return new TextDecoder().decode(bytes(message, field));
}

function number(message: Fields, field: number): bigint {
  return (message.get(field)?.[0] ?? 0n) as bigint;
}

/** Reads the protobuf encoding of a message. */
function fieldsOf(message: Uint8Array): Fields {
  const fields: Fields = new Map();
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = view.getUint8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = Number(varint());
    const values = fields.get(tag >> 3) ?? [];
    fields.set(tag >> 3, values);
    switch (tag & 7) {
      case 0:
        values.push(varint());
        break;
      case 1:
        values.push(view.getBigUint64(at, true));
        at += 8;
        break;
      case 2: {
        const length = Number(varint());
        values.push(message.subarray(at, at + length));
        at += length;
        break;
      }
      case 5:
        values.push(BigInt(view.getUint32(at, true)));
        at += 4;
        break;
      default:
        throw new Error(`not protobuf: wire type ${tag & 7}`);
    }
  }
  return fields;
}
