import { Registry } from "prom-client";
import type { Database } from "../database/database.ts";
import type { ListenAddress } from "../input/listen-address.ts";
import type { Log } from "../log/log.ts";
import { type MetricsListener, startListener } from "./listener.ts";
import { processMetrics } from "./process.ts";
import { stateMetrics, type StateSources } from "./state.ts";
import { type TrafficObservers, trafficMetrics } from "./traffic.ts";

/** Metrics that are counted and served. */
export type Metrics = TrafficObservers & { url: string; stop(): Promise<void> };

/**
 * Serves the metrics at the address, and returns what counts requests, commits and attempts.
 * @throws DomainError `conflict`, `forbidden` or `invalid`, naming PARLEY_METRICS_ADDRESS, when it cannot listen there.
 */
export async function startMetrics(
  address: ListenAddress,
  sources: StateSources & { database: Database; log: Log },
): Promise<Metrics> {
  const registry = new Registry();
  const traffic = trafficMetrics(registry);
  const readState = stateMetrics(registry, sources);
  const sqlite = sources.database.file?.reader
    .query<{ version: string }, []>("SELECT sqlite_version() AS version")
    .get();
  let scrape: Promise<string> | undefined;
  // Scrapes at the same time share one.
  const text = () => {
    scrape ??= readState()
      .then(() => registry.metrics())
      .finally(() => (scrape = undefined));
    return scrape;
  };
  const listener: MetricsListener = await startListener(address, text, registry.contentType, sources.log);
  const measured = processMetrics(registry, sqlite?.version ?? "");
  return {
    ...traffic,
    url: listener.url,
    async stop() {
      measured[Symbol.dispose]();
      await listener.stop();
    },
  };
}
