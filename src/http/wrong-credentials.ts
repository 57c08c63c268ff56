import type { DomainError } from "../errors.ts";
import type { Log } from "../log/log.ts";
import { networkOf } from "./client-address.ts";
import { RateLimit, rateLimitError } from "./rate-limit.ts";

/** The maximum number of wrong credentials from one address in a minute, until they are 429. */
const wrongMax = 600;

/** The number of addresses counted separately, about 2 MB; those beyond share one count. */
const addressesMax = 10_000;

/**
 * Counts wrong credentials by client address, all kinds together: bearer tokens, the directory's token, the URLs of
 * incoming webhooks. Valid credentials are never counted or refused, so nobody is shut out by others who send from the
 * same address, such as a reverse proxy's. For that reason it does not stop guessing either: the length of a credential
 * does. It makes guesses cheap to respond to, and shows them in the log.
 */
export class WrongCredentials {
  readonly #counts: RateLimit;
  readonly #log: Log;
  readonly #addressOf: (request: Request) => string | undefined;

  /** `addressOf` is called for wrong credentials only; it returns undefined once the client has disconnected. */
  constructor(log: Log, addressOf: (request: Request) => string | undefined, now?: () => number) {
    this.#counts = new RateLimit(wrongMax, { now, keysMax: addressesMax });
    this.#log = log;
    this.#addressOf = addressOf;
  }

  /**
   * Counts a request with wrong credentials. Returns the error to throw: the one given or, over the limit,
   * `rate_limited`.
   */
  errorOf(request: Request, error: DomainError): DomainError {
    const address = networkOf(this.#addressOf(request) ?? "unknown");
    const status = this.#counts.take(address);
    if (status.isAllowed) return error;
    if (status.isFirstRefusal) {
      const reason = `More than ${wrongMax} wrong credentials came in a minute. Valid ones are still accepted.`;
      this.#log.warn({ address, reason }, "credentials.limited");
    }
    return rateLimitError(
      status,
      `More than ${wrongMax} wrong credentials came from this address in a minute.`,
    );
  }
}
