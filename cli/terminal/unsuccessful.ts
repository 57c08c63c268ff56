/** A request to a receiver was sent and did not succeed: the command failed, and `data` is what came of it. */
export class Unsuccessful extends Error {
  override readonly name = "Unsuccessful";
  readonly data: unknown;

  constructor(message: string, data: unknown) {
    super(message);
    this.data = data;
  }
}
