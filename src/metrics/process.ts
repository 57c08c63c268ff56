import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { version } from "../version.ts";

/** How often the delay of the event loop is measured, in milliseconds. */
const lagIntervalMs = 100;

/** In seconds. */
const lagBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

/** Adds the metrics of the process. Returns what ends the measuring. */
export function processMetrics(registry: Registry, sqliteVersion: string): Disposable {
  const registers = [registry];
  new Gauge({
    name: "parley_build_info",
    help: "Always 1; the labels say what runs.",
    labelNames: ["version", "bun", "sqlite"],
    registers,
  }).set({ version, bun: Bun.version, sqlite: sqliteVersion }, 1);
  new Gauge({
    name: "parley_start_time_seconds",
    help: "When the process started, in seconds since 1970.",
    registers,
  }).set(Math.round(performance.timeOrigin) / 1_000);
  new Gauge({
    name: "parley_resident_memory_bytes",
    help: "Memory of the process (RSS).",
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Counter({
    name: "parley_cpu_seconds_total",
    help: "CPU time of the process, of all its threads.",
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1_000_000);
    },
  });
  const lag = new Histogram({
    name: "parley_event_loop_lag_seconds",
    help: `How much later than asked a timer runs, measured every ${lagIntervalMs} ms.`,
    buckets: lagBuckets,
    registers,
  });
  let dueAt = performance.now() + lagIntervalMs;
  const timer = setInterval(() => {
    const now = performance.now();
    lag.observe(Math.max(0, now - dueAt) / 1_000);
    dueAt = now + lagIntervalMs;
  }, lagIntervalMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
