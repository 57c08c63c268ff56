import { originalOf } from "./client-address.ts";

/** Whom a request came from and what it was about, as its log line names them: ids only, never a credential. */
export type Caller = { token_id?: string; user_id?: string; webhook_id?: string; channel_id?: string };

/** The caller of each request, until its log line is written. */
const callers = new WeakMap<Request, Caller>();

/** Keeps the caller for the request's log line. Call it once the credential has proved valid. */
export function noteCaller(request: Request, caller: Caller): void {
  callers.set(originalOf(request), caller);
}

/** Returns the caller of the request; undefined while its credential has not proved valid, or it has none. */
export function callerOf(request: Request): Caller | undefined {
  return callers.get(request);
}
