import { originalOf } from "./client-address.ts";

/** Whom a request came from and what it was about, as its log line names them: ids only, never a credential. */
export type Caller = {
  token_id?: string | undefined;
  user_id?: string | undefined;
  channel_id?: string | undefined;
  webhook_id?: string | undefined;
};

/** A property of the request and not a WeakMap, which would cost each request most of a microsecond. */
const caller = Symbol("caller");

type WithCaller = Request & { [caller]?: Caller };

/** Keeps the caller for the request's log line. Call it once the credential has proved valid. */
export function noteCaller(request: Request, found: Caller): void {
  const original: WithCaller = originalOf(request);
  original[caller] = found;
}

/** Returns the caller of the request; undefined while its credential has not proved valid, or it has none. */
export function callerOf(request: Request): Caller | undefined {
  return (request as WithCaller)[caller];
}
