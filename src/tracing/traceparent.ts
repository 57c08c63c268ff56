import { type SpanContext, trace } from "@opentelemetry/api";
import { parseTraceParent } from "@opentelemetry/core";

/** Returns the span that a `traceparent` header names (W3C Trace Context); undefined for a missing or malformed one. */
export function spanNamedBy(traceparent: string | null): SpanContext | undefined {
  const parsed = traceparent === null ? null : parseTraceParent(traceparent);
  return parsed && trace.isSpanContextValid(parsed) ? { ...parsed, isRemote: true } : undefined;
}

/** Returns the `traceparent` header that names the span. */
export function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}
