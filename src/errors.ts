/** Why an operation was rejected. One table each maps these codes to HTTP statuses and to exit statuses. */
export type ErrorCode =
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "gone"
  | "method_not_allowed"
  | "too_large"
  | "unsupported_media_type"
  | "rate_limited"
  | "bad_request"
  | "usage"
  | "busy"
  | "unavailable"
  | "unwritable"
  | "key_missing"
  | "data_too_new"
  | "data_damaged"
  | "data_lost";

/** Messages by field, as in the specification's ValidationError. */
export type FieldErrors = Record<string, string[]>;

/** An expected error that the caller can understand and act on. Any other exception is an internal error. */
export class DomainError extends Error {
  override readonly name = "DomainError";
  readonly code: ErrorCode;
  readonly errors: FieldErrors | undefined;
  /** Additional response headers for this error, such as `Allow` or `Retry-After`. */
  readonly headers: Record<string, string>;

  constructor(
    code: ErrorCode,
    message: string,
    extra: { errors?: FieldErrors; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, "cause" in extra ? { cause: extra.cause } : undefined);
    this.code = code;
    this.errors = extra.errors;
    this.headers = extra.headers ?? {};
  }
}

/** The error for something that does not exist or that the subject may not know about: both look the same. */
export function notFound(noun: string): DomainError {
  return new DomainError("not_found", `There is no such ${noun}.`);
}

/** The error for something that the subject may see but not do. */
export function forbidden(message: string): DomainError {
  return new DomainError("forbidden", message);
}

/** The error for invalid input: `errors` maps each field to its messages, and the error's own message sums them up. */
export function invalid(errors: FieldErrors): DomainError {
  const [first = "The input is not valid.", ...others] = Object.values(errors).flat();
  const rest =
    others.length === 0 ? "" : ` (and ${others.length} more ${others.length === 1 ? "error" : "errors"})`;
  return new DomainError("invalid", first + rest, { errors });
}
