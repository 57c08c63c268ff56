import type { DomainError, ErrorCode } from "../errors.ts";

/** Which HTTP status says which refusal: the one table of it. */
export const statusOf: Record<ErrorCode, number> = {
  bad_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  unsupported_media_type: 415,
  invalid: 422,
  rate_limited: 429,
  // Not reached by requests, but a table has no holes.
  usage: 422,
  busy: 503,
  unwritable: 503,
  key_missing: 503,
  data_too_new: 503,
  data_damaged: 503,
  data_lost: 503,
};

/** When to come again after a 503, in seconds: what it waits for is an operator, or another process. */
const retryAfter = "5";

/** The headers that belong to the refusal: its own, and `Retry-After` with every 503. */
export function headersOf({ code, headers }: DomainError): Record<string, string> {
  return statusOf[code] === 503 ? { "Retry-After": retryAfter, ...headers } : headers;
}
