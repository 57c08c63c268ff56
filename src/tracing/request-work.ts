import type { TracedWork } from "./work.ts";

/** A property of the request and not a WeakMap, which would cost each request most of a microsecond. */
const work = Symbol("work");

type WithWork = Request & { [work]?: TracedWork };

/** Keeps the request's span for its writes. */
export function noteWork(request: Request, begun: TracedWork): void {
  (request as WithWork)[work] = begun;
}

/** Returns the request's span, for `Database.write`; undefined while traces are off. */
export function workOf(request: Request): TracedWork | undefined {
  return (request as WithWork)[work];
}
