import { Counter, Histogram, type Registry } from "prom-client";
import type { CommitObserver } from "../database/database.ts";
import type { AttemptObserver } from "../deliveries/worker.ts";

/** In seconds. */
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const commitBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const attemptBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const writesBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Clients may send any method: the rest share a name, so that nobody can make up time series. */
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** What the server calls while it works. */
export type TrafficObservers = {
  /** After each response: the route's pattern (undefined without a route), and how long it took in milliseconds. */
  request: (method: string, route: string | undefined, status: number, durationMs: number) => void;
  commit: CommitObserver;
  attempt: AttemptObserver;
};

/** Adds the metrics of requests, commits and delivery attempts; returns what counts them. */
export function trafficMetrics(registry: Registry): TrafficObservers {
  const registers = [registry];
  const requests = new Counter({
    name: "parley_http_requests_total",
    help: "Responses by method, route and status. Without a route, route is empty.",
    labelNames: ["method", "route", "status"],
    registers,
  });
  const requestSeconds = new Histogram({
    name: "parley_http_request_duration_seconds",
    help: "From reading a request to its response, by method and route.",
    labelNames: ["method", "route"],
    buckets: requestBuckets,
    registers,
  });
  const commitSeconds = new Histogram({
    name: "parley_commit_duration_seconds",
    help: "From the beginning of a transaction until it is on disk.",
    buckets: commitBuckets,
    registers,
  });
  const commitWrites = new Histogram({
    name: "parley_commit_writes",
    help: "Changes that shared a commit.",
    buckets: writesBuckets,
    registers,
  });
  const commitFailures = new Counter({
    name: "parley_commit_failures_total",
    help: "Transactions that could not be committed.",
    registers,
  });
  const attempts = new Counter({
    name: "parley_delivery_attempts_total",
    help: "Delivery attempts by outcome. own_fault is a fault of the server, and no attempt for the receiver.",
    labelNames: ["outcome"],
    registers,
  });
  for (const outcome of ["succeeded", "rejected", "timed_out", "unreachable", "blocked", "own_fault"]) {
    attempts.inc({ outcome }, 0);
  }
  const attemptSeconds = new Histogram({
    name: "parley_delivery_attempt_duration_seconds",
    help: "From the DNS look-up of a delivery to the end of the response, whatever the outcome.",
    buckets: attemptBuckets,
    registers,
  });
  return {
    request(method, route = "", status, durationMs) {
      const known = methods.has(method) ? method : "other";
      requests.inc({ method: known, route, status });
      requestSeconds.observe({ method: known, route }, durationMs / 1_000);
    },
    commit: {
      committed(writes, durationMs) {
        commitSeconds.observe(durationMs / 1_000);
        commitWrites.observe(writes);
      },
      failed: () => commitFailures.inc(),
    },
    attempt(outcome, durationMs) {
      attempts.inc({ outcome });
      attemptSeconds.observe(durationMs / 1_000);
    },
  };
}
