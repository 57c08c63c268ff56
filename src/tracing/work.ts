import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { ATTR_ERROR_TYPE, ATTR_HTTP_RESPONSE_STATUS_CODE } from "@opentelemetry/semantic-conventions";
import { DomainError } from "../errors.ts";
import { type Destination, TracedAttempt } from "./attempt.ts";
import { spanNamedBy, traceparentOf } from "./traceparent.ts";

/** A request or a command while it runs, as a span. Its commits and its attempts are children of the span. */
export class TracedWork {
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #context: Context;

  constructor(tracer: Tracer, span: Span) {
    this.#tracer = tracer;
    this.#span = span;
    this.#context = trace.setSpan(ROOT_CONTEXT, span);
  }

  /** For log lines, which thereby lead to the trace. */
  get traceId(): string {
    return this.#span.spanContext().traceId;
  }

  /** Begins the span of a write, when it is queued, to a database of this system. */
  beginCommit(system: keyof typeof commitsOf): TracedCommit {
    return new TracedCommit(this.#tracer.startSpan("commit", commitsOf[system], this.#context));
  }

  /** Begins the span of an attempt that this work makes itself, linked to what the event was stored with. */
  beginAttempt(destination: Destination, traceparent: string | null): TracedAttempt {
    const cause = spanNamedBy(traceparent);
    const links = cause ? [{ context: cause }] : [];
    return TracedAttempt.begin(this.#tracer, destination, { context: this.#context, links });
  }

  /** Ends the span of a request. Only a 5xx is an error of ours. */
  endRequest(status: number): void {
    this.#span.setAttribute(ATTR_HTTP_RESPONSE_STATUS_CODE, status);
    if (status >= 500) {
      this.#span.setAttribute(ATTR_ERROR_TYPE, String(status));
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }

  /** Ends the span of a command; `error` is what made it fail. */
  endCommand(error?: unknown): void {
    if (error !== undefined) noteError(this.#span, error);
    this.#span.end();
  }
}

const commitOptions = (system: "sqlite" | "postgresql") => ({
  kind: SpanKind.INTERNAL,
  attributes: { "db.system.name": system },
});
const commitsOf = { sqlite: commitOptions("sqlite"), postgresql: commitOptions("postgresql") };

/** One call of a write: from when it is queued until the commit that it shares with others is on disk. */
export class TracedCommit {
  readonly #span: Span;

  constructor(span: Span) {
    this.#span = span;
  }

  /** What the events of the call are stored with: their deliveries go on from this span. */
  get traceparent(): string {
    return traceparentOf(this.#span.spanContext());
  }

  /** Ends the span. `number` counts the commits since the start of the process, `calls` those that shared this one. */
  committed({ number, calls }: { number: number; calls: number }): void {
    this.#span.setAttribute("parley.commit.number", number);
    this.#span.setAttribute("parley.commit.calls", calls);
    this.#span.end();
  }

  /** Ends the span of a call that changed nothing. */
  undone(error: unknown): void {
    noteError(this.#span, error);
    this.#span.end();
  }
}

/** A `DomainError` is an answer, so it is named but does not count as a failure. Messages may quote user text. */
function noteError(span: Span, error: unknown): void {
  const isAnswer = error instanceof DomainError;
  const name = error instanceof Error ? error.name : typeof error;
  span.setAttribute(ATTR_ERROR_TYPE, isAnswer ? error.code : name);
  if (!isAnswer) span.setStatus({ code: SpanStatusCode.ERROR });
}
