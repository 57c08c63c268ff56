import type { TracedWork } from "./work.ts";

/** The span of each request in flight; empty while traces are off. */
const works = new WeakMap<Request, TracedWork>();

/** Keeps the request's span for its writes. */
export function noteWork(request: Request, work: TracedWork): void {
  works.set(request, work);
}

/** Returns the request's span, for `Database.write`; undefined while traces are off. */
export function workOf(request: Request): TracedWork | undefined {
  return works.get(request);
}
