import { Counter, Histogram, type Registry } from "prom-client";
import type { CommitObserver } from "../database/database.ts";
import type { AttemptObserver } from "../deliveries/worker.ts";
import { requestMetrics, type RequestObserver } from "./requests.ts";

/** In seconds. */
const commitBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const attemptBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const writesBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** What the server calls while it works. */
export type TrafficObservers = {
  request: RequestObserver;
  commit: CommitObserver;
  attempt: AttemptObserver;
};

/** Adds the metrics of requests, commits and delivery attempts; returns what counts them. */
export function trafficMetrics(registry: Registry): TrafficObservers {
  const registers = [registry];
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
    request: requestMetrics(registry),
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
