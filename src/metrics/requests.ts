import { Counter, type Metric, type Registry } from "prom-client";

/** Upper bounds of the buckets, in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Clients may send any method: the rest share a name, so that nobody can make up time series. */
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

const histogram = {
  name: "parley_http_request_duration_seconds",
  help: "From reading a request to its response, by method and route.",
  type: "histogram",
  aggregator: "sum",
};

/** The requests of one route and method so far. */
type Tally = {
  labels: { method: string; route: string };
  statuses: Map<number, number>;
  /** How many took up to each of the bounds, but longer than the one before; the last took longer than all. */
  buckets: number[];
  seconds: number;
};

/** Called with each response: the route's pattern, undefined without a route, and its duration in milliseconds. */
export type RequestObserver = (
  method: string,
  route: string | undefined,
  status: number,
  durationMs: number,
) => void;

/**
 * Adds the metrics of requests and returns what counts them. It runs with every request, so it only adds up numbers,
 * and the library sees them at a scrape: counting through the library takes ten times as long.
 */
export function requestMetrics(registry: Registry): RequestObserver {
  const byRoute = new Map<string, Map<string, Tally>>();
  const tallies = () => [...byRoute.values()].flatMap((ofRoute) => [...ofRoute.values()]);

  new Counter({
    name: "parley_http_requests_total",
    help: "Responses by method, route and status. Without a route, route is empty.",
    labelNames: ["method", "route", "status"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, statuses } of tallies())
        for (const [status, count] of statuses) this.inc({ ...labels, status }, count);
    },
  });
  const get = async () => ({ ...histogram, values: tallies().flatMap(valuesOf) });
  // What the registry uses of a metric; the library's own histogram takes single observations only.
  registry.registerMetric({ ...histogram, get } as unknown as Metric);

  return (method, route = "", status, durationMs) => {
    const tally = byRoute.get(route)?.get(method) ?? tallyOf(byRoute, method, route);
    tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
    const seconds = durationMs / 1_000;
    tally.seconds += seconds;
    let nth = 0;
    while (nth < bounds.length && seconds > (bounds[nth] as number)) nth++;
    tally.buckets[nth] = (tally.buckets[nth] as number) + 1;
  };
}

function tallyOf(byRoute: Map<string, Map<string, Tally>>, method: string, route: string): Tally {
  const ofRoute = byRoute.get(route) ?? new Map<string, Tally>();
  byRoute.set(route, ofRoute);
  const known = methods.has(method) ? method : "other";
  const found = ofRoute.get(known);
  if (found) return found;
  const buckets = Array.from({ length: bounds.length + 1 }, () => 0);
  const tally = {
    labels: { method: known, route },
    statuses: new Map<number, number>(),
    buckets,
    seconds: 0,
  };
  ofRoute.set(known, tally);
  return tally;
}

/** The samples of the histogram for one route and method. Each bucket counts the ones below it too. */
function valuesOf({ labels, buckets, seconds }: Tally) {
  let count = 0;
  const counted = buckets.map((inBucket, nth) => {
    count += inBucket;
    const le = bounds[nth] ?? "+Inf";
    return { metricName: `${histogram.name}_bucket`, labels: { le, ...labels }, value: count };
  });
  return [
    ...counted,
    { metricName: `${histogram.name}_sum`, labels, value: seconds },
    { metricName: `${histogram.name}_count`, labels, value: count },
  ];
}
