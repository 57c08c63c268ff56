import { ExportResultCode, type ExportResult } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import {
  ATTR_SERVICE_INSTANCE_ID,
  ATTR_SERVICE_NAME,
  ATTR_SERVICE_VERSION,
} from "@opentelemetry/semantic-conventions";
import type { Log } from "../log/log.ts";
import { errorCode } from "../system/error-code.ts";
import { version } from "../version.ts";
import { SpanIds } from "./span-ids.ts";
import { Tracing } from "./tracing.ts";

/**
 * How many spans wait at most: further ones are dropped, so a collector that is away costs some megabytes and no more.
 * Spans are encoded on the main thread, half a millisecond for a full batch.
 */
const waitingMax = 4_096;
const batchMax = 256;

/** How long spans wait for others before they are sent, in milliseconds. */
const gatherMs = 250;

/** How long one batch may take to send, with its retries, in milliseconds. */
const sendMaxMs = 5_000;

/**
 * Starts to send spans to the OTLP/HTTP endpoint, whose `/v1/traces` takes them. Nothing waits for the collector. The
 * log hears once that it does not take them, and once that it does again. `stopMaxMs` bounds how long a stop waits for
 * the last spans.
 */
export function startTracing(
  endpoint: string,
  { log, stopMaxMs }: { log?: Log | undefined; stopMaxMs: number },
): Tracing {
  const ids = new SpanIds();
  const own = resourceFromAttributes({
    [ATTR_SERVICE_NAME]: "parley",
    [ATTR_SERVICE_VERSION]: version,
    [ATTR_SERVICE_INSTANCE_ID]: crypto.randomUUID(),
  });
  const exporter = new OTLPTraceExporter({
    url: `${endpoint}/v1/traces`,
    timeoutMillis: Math.min(sendMaxMs, stopMaxMs),
  });
  const processor = new BatchSpanProcessor({
    exporter: log ? withOutagesLogged(exporter, log) : exporter,
    maxQueueSize: waitingMax,
    maxExportBatchSize: batchMax,
    scheduledDelayMillis: gatherMs,
  });
  const provider = new TracerProvider({
    resource: own.merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [processor],
    idGenerator: ids,
  });
  const shutDown = async () => {
    const { promise: waitedEnough, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, stopMaxMs);
    // A batch that the collector refuses rejects; the log has it.
    await Promise.race([provider.shutdown().catch(() => {}), waitedEnough]);
    // Otherwise a command would end only when the time is over.
    clearTimeout(timer);
  };
  return new Tracing(provider.getTracer("parley", version), ids, shutDown);
}

/** Wraps the exporter, so that the log gets one line when batches begin to be lost and one when that is over. */
function withOutagesLogged(exporter: SpanExporter, log: Log): SpanExporter {
  let failingSince: number | undefined;
  const note = ({ code, error }: ExportResult) => {
    if (code === ExportResultCode.SUCCESS && failingSince !== undefined) {
      log.info({ lasted_ms: Date.now() - failingSince }, "traces.sent_again");
      failingSince = undefined;
    } else if (code === ExportResultCode.FAILED && failingSince === undefined) {
      failingSince = Date.now();
      log.warn({ reason: reasonOf(error) }, "traces.not_sent");
    }
  };
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        note(result);
        done(result);
      });
    },
    forceFlush: async () => await exporter.forceFlush?.(),
    shutdown: async () => await exporter.shutdown(),
  };
}

/** Without the endpoint, which may hold a password. */
function reasonOf(error: Error | undefined): string {
  const code: unknown = error && "code" in error ? error.code : undefined;
  if (typeof code === "number") return `The collector answered ${code}.`;
  return `The collector could not be reached: ${errorCode(error) ?? error?.message ?? "no response"}.`;
}
