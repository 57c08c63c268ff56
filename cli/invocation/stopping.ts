import { DomainError } from "../../src/errors.ts";

/** A signal that is aborted when the process is asked to stop, so that work in hand removes what it has begun. */
export function stoppingSignal(said: string): AbortSignal {
  const stopping = new AbortController();
  const stop = () => stopping.abort(new DomainError("conflict", said));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, stop);
  return stopping.signal;
}
