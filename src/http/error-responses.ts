import { status } from "elysia";
import { DomainError, type FieldErrors } from "../errors.ts";
import { headersOf, statusOf } from "./statuses.ts";

/** All that a response reveals of an internal error. */
export const internalErrorMessage =
  "Internal error. The server's log has the details under this X-Request-Id.";

/** The internal error of each request, until its log line is written. */
const internalErrors = new WeakMap<Request, unknown>();

/**
 * Returns the JSON response to an error from a route. A `DomainError` says why; any other is an internal error, whose
 * details go to the log alone. The log also gets each 503, which is the operator's to solve.
 */
export function errorResponseOf(error: unknown, request: Request) {
  if (error instanceof DomainError) {
    const status = statusOf[error.code];
    if (status === 503) noteInternalError(request, error);
    return { status, body: errorBody(error.message, error.errors), headers: headersOf(error) };
  }
  noteInternalError(request, error);
  return { status: 500 as const, body: errorBody(internalErrorMessage), headers: undefined };
}

/** The same in the framework's form; adds the error's headers to `headers`. */
export function elysiaErrorResponse(
  error: unknown,
  request: Request,
  headers: Record<string, string | number>,
) {
  const response = errorResponseOf(error, request);
  Object.assign(headers, response.headers);
  return status(response.status, response.body);
}

/** Keeps the internal error for the request's log line. */
export function noteInternalError(request: Request, error: unknown): void {
  internalErrors.set(request, error);
}

/** Returns the request's internal error, for its log line. */
export function internalErrorOf(request: Request): unknown {
  return internalErrors.get(request);
}

/** Returns the body of an error response, with `errors` by field if there are any. */
export function errorBody(message: string, errors?: FieldErrors) {
  return errors === undefined ? { message } : { message, errors };
}
