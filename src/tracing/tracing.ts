import {
  type Context,
  isValidTraceId,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import {
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_ROUTE,
  ATTR_URL_SCHEME,
} from "@opentelemetry/semantic-conventions";
import { type Destination, TracedAttempt } from "./attempt.ts";
import { attemptSpanId, type Ids, type SpanIds } from "./span-ids.ts";
import { spanNamedBy } from "./traceparent.ts";
import { TracedWork } from "./work.ts";

/** A queued delivery; `attempts` have been made, and `traceparent` is what its event was stored with. */
type QueuedDelivery = Omit<Destination, "url"> & { attempts: number; traceparent: string | null };

/** Begins the spans of this process. Exists only where `PARLEY_OTLP_ENDPOINT` is set, and is loaded only then. */
export class Tracing {
  readonly #tracer: Tracer;
  readonly #ids: SpanIds;
  readonly #shutDown: () => Promise<void>;

  constructor(tracer: Tracer, ids: SpanIds, shutDown: () => Promise<void>) {
    this.#tracer = tracer;
    this.#ids = ids;
    this.#shutDown = shutDown;
  }

  /**
   * Begins the span of a request, in the trace that its `traceparent` names if there is one. `route` is the path with
   * names in place of values, undefined when there is nothing at the address. The path itself may hold a secret.
   */
  beginRequest({ method, headers }: Request, route: string | undefined): TracedWork {
    const known = methods.has(method) ? method : undefined;
    const attributes = {
      [ATTR_HTTP_REQUEST_METHOD]: known ?? "_OTHER",
      [ATTR_URL_SCHEME]: "http",
      ...(route !== undefined && { [ATTR_HTTP_ROUTE]: route }),
    };
    const name = route === undefined ? (known ?? "HTTP") : `${known ?? "HTTP"} ${route}`;
    const options = { kind: SpanKind.SERVER, attributes };
    const parent = contextOf(spanNamedBy(headers.get("traceparent")));
    return new TracedWork(this.#tracer, this.#tracer.startSpan(name, options, parent));
  }

  /** Begins the span of a command, such as `parley deliveries replay`. */
  beginCommand(name: string): TracedWork {
    return new TracedWork(this.#tracer, this.#tracer.startSpan(name, {}, ROOT_CONTEXT));
  }

  /**
   * Begins the span of the next attempt at a delivery. All attempts are in the trace of the request that caused the
   * event, so one trace tells what became of it; a retry is linked to the attempt before it. For an event that was
   * stored without a trace, its own id names the trace.
   */
  beginDelivery(delivery: QueuedDelivery, url: string): TracedAttempt {
    const { eventId, subscriptionId, attempts, traceparent } = delivery;
    const parent = spanNamedBy(traceparent);
    const traceId = parent?.traceId ?? traceIdOf(eventId) ?? this.#ids.generateTraceId();
    const idsOf = (attempt: number): Ids => ({
      traceId,
      spanId: attemptSpanId(eventId, subscriptionId, attempt),
    });
    const previous = { ...idsOf(attempts - 1), traceFlags: parent?.traceFlags ?? TraceFlags.SAMPLED };
    const begin = () =>
      TracedAttempt.begin(
        this.#tracer,
        { ...delivery, url },
        {
          context: contextOf(parent),
          links: attempts > 0 ? [{ context: previous }] : [],
          retries: attempts,
        },
      );
    return this.#ids.giving(idsOf(attempts), begin);
  }

  /** Sends the spans that have ended and stops. Resolves in bounded time, whatever the collector does. */
  async stop(): Promise<void> {
    await this.#shutDown();
  }
}

/** Methods that the semantic conventions know. */
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"]);

function contextOf(parent: SpanContext | undefined): Context {
  return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
}

function traceIdOf(eventId: string): string | undefined {
  const digits = eventId.replaceAll("-", "");
  return isValidTraceId(digits) ? digits : undefined;
}
