import { status } from "elysia";
import { DomainError, type FieldErrors } from "../errors.ts";
import { headersOf, statusOf } from "./statuses.ts";

/** All that an answer says of a fault of ours. */
export const internalErrorMessage =
  "Something went wrong on our side. The server's log says what, under this X-Request-Id.";

/** What went wrong inside of us while a request was handled, until its log line is written. */
const internalErrors = new WeakMap<Request, unknown>();

/**
 * The JSON answer to whatever a route threw. A refusal says why; a fault of ours says nothing about its inside. The log is
 * told of both, but for the refusals that are no trouble of ours.
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

/** The same for the framework. */
export function elysiaErrorResponse(
  error: unknown,
  request: Request,
  headers: Record<string, string | number>,
) {
  const refusal = errorResponseOf(error, request);
  Object.assign(headers, refusal.headers);
  return status(refusal.status, refusal.body);
}

/** Keeps what went wrong inside of us for the request's log line. */
export function noteInternalError(request: Request, error: unknown): void {
  internalErrors.set(request, error);
}

/** The fault that the request ran into, for its log line. */
export function internalErrorOf(request: Request): unknown {
  return internalErrors.get(request);
}

/** The body of a refusal, with `errors` by field where there are any. */
export function errorBody(message: string, errors?: FieldErrors) {
  return errors === undefined ? { message } : { message, errors };
}
