import {
  type Context,
  type Link,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
} from "@opentelemetry/api";
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_REQUEST_RESEND_COUNT,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
} from "@opentelemetry/semantic-conventions";
import { traceparentOf } from "./traceparent.ts";

/** What is sent where. The URL's path may be a secret, so the span has its host alone. */
export type Destination = { url: string; subscriptionId: string; eventId: string; eventType: string };

/** How an attempt ended. */
type Outcome = { kind: string; status: number | null; error: string | null };

/** An attempt at a delivery while it is made, as a span. */
export class TracedAttempt {
  readonly #span: Span;
  #endedAt = 0;

  private constructor(span: Span) {
    this.#span = span;
  }

  /** Begins the span. `retries` is the number of attempts before this one. */
  static begin(
    tracer: Tracer,
    { url, subscriptionId, eventId, eventType }: Destination,
    { context, links, retries = 0 }: { context: Context; links: Link[]; retries?: number },
  ): TracedAttempt {
    const { hostname, port, protocol } = new URL(url);
    const attributes = {
      [ATTR_HTTP_REQUEST_METHOD]: "POST",
      [ATTR_SERVER_ADDRESS]: hostname,
      [ATTR_SERVER_PORT]: Number(port) || (protocol === "https:" ? 443 : 80),
      ...(retries > 0 && { [ATTR_HTTP_REQUEST_RESEND_COUNT]: retries }),
      "parley.webhook.id": subscriptionId,
      "parley.event.id": eventId,
      "parley.event.type": eventType,
    };
    const options = { kind: SpanKind.CLIENT, attributes, links };
    return new TracedAttempt(tracer.startSpan(`deliver ${eventType}`, options, context));
  }

  /** The header that makes the receiver's spans children of this one. */
  get traceparent(): string {
    return traceparentOf(this.#span.spanContext());
  }

  /** For log lines, which thereby lead to the trace. */
  get traceId(): string {
    return this.#span.spanContext().traceId;
  }

  /** Notes how the attempt ended, now. */
  answered({ kind, status, error }: Outcome): void {
    this.#endedAt = performance.now();
    if (status !== null) this.#span.setAttribute(ATTR_HTTP_RESPONSE_STATUS_CODE, status);
    if (kind === "succeeded") return;
    this.#span.setAttribute(ATTR_ERROR_TYPE, kind === "rejected" ? String(status) : kind);
    this.#span.setStatus({ code: SpanStatusCode.ERROR, message: error ?? kind });
  }

  /**
   * Ends the span at the time of `answered`; `deliveryId` is the attempt's entry in the log of deliveries. A span that
   * is never ended is never sent: so it is with an attempt that does not count.
   */
  end(deliveryId?: string): void {
    if (deliveryId !== undefined) this.#span.setAttribute("parley.delivery.id", deliveryId);
    this.#span.end(this.#endedAt);
  }
}
