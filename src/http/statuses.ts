import type { DomainError, ErrorCode } from "../errors.ts";

/** The HTTP status of each error code. */
export const statusOf: Record<ErrorCode, number> = {
  bad_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  gone: 410,
  too_large: 413,
  unsupported_media_type: 415,
  invalid: 422,
  rate_limited: 429,
  // The command line's; no request leads to it.
  usage: 422,
  busy: 503,
  unavailable: 503,
  unwritable: 503,
  key_missing: 503,
  data_too_new: 503,
  data_damaged: 503,
  data_lost: 503,
};

/** The delay to suggest after a 503, in seconds: an operator or another process has to act first. */
const retryAfter = "5";

/** Returns the headers of the error response: the error's own, and `Retry-After` with every 503. */
export function headersOf({ code, headers }: DomainError): Record<string, string> {
  return statusOf[code] === 503 ? { "Retry-After": retryAfter, ...headers } : headers;
}
