/** Why an operation was refused. HTTP statuses and exit statuses are derived from these words in one table each. */
export type ErrorCode =
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "method_not_allowed"
  | "too_large"
  | "unsupported_media_type"
  | "rate_limited"
  | "bad_request"
  | "usage"
  | "busy"
  | "unwritable"
  | "key_missing"
  | "data_too_new"
  | "data_damaged"
  | "data_lost";

/** Messages by field, as the specification's ValidationError carries them. */
export type FieldErrors = Record<string, string[]>;

/** A refusal that the caller can understand and act on. Whatever else is thrown is a fault of ours. */
export class DomainError extends Error {
  override readonly name = "DomainError";
  readonly code: ErrorCode;
  readonly errors: FieldErrors | undefined;
  /** Extra response headers that belong to this refusal, `Allow` or `Retry-After`. */
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

/** The refusal for something that does not exist or may not be known to exist: both read the same. */
export function notFound(what: string): DomainError {
  return new DomainError("not_found", `There is no such ${what}.`);
}

/** The refusal for something that the subject may see but not do. */
export function forbidden(message: string): DomainError {
  return new DomainError("forbidden", message);
}

/** The refusal of input: `errors` maps each field to what is wrong with it, and the message sums them up. */
export function invalid(errors: FieldErrors): DomainError {
  const [first = "The input is not valid.", ...others] = Object.values(errors).flat();
  const rest =
    others.length === 0 ? "" : ` (and ${others.length} more ${others.length === 1 ? "error" : "errors"})`;
  return new DomainError("invalid", first + rest, { errors });
}
