/**
 * A request was sent to a receiver, or checks were made, and failed: so did the command. `data` is the outcome of the
 * request or of the checks.
 */
export class FailedRequest extends Error {
  override readonly name = "FailedRequest";
  readonly data: unknown;

  constructor(message: string, data: unknown) {
    super(message);
    this.data = data;
  }
}
