import type { DomainError } from "../errors.ts";
import type { Log } from "../log/log.ts";
import { networkOf } from "./client-address.ts";
import { RateLimit, rateLimitError } from "./rate-limit.ts";

/** How many wrong credentials from one address are looked at as such in a minute. */
const wrongMax = 600;

/** So many addresses are counted each by itself; those beyond share one count. All that are held take about 2 MB. */
const addressesMax = 10_000;

/**
 * Counts wrong credentials by the address of the client, all kinds together: bearer tokens, the directory's token, the
 * addresses of incoming webhooks. Whoever brings a right one is not even counted, so that nobody is shut out by what
 * others send from the same address, such as that of a reverse proxy. That is also why it stops no guessing: what keeps a
 * credential from being guessed is its length. It makes guesses cheap to answer and seen in the log.
 */
export class WrongCredentials {
  readonly #counts: RateLimit;
  readonly #log: Log;
  readonly #addressOf: (request: Request) => string | undefined;

  /** `addressOf` is asked for wrong ones only; where it knows none, the connection has gone, and with it who would read. */
  constructor(log: Log, addressOf: (request: Request) => string | undefined, now?: () => number) {
    this.#counts = new RateLimit(wrongMax, { now, keysMax: addressesMax });
    this.#log = log;
    this.#addressOf = addressOf;
  }

  /** Counts a request with wrong credentials. Returns its refusal: the one given or, over the limit, `rate_limited`. */
  refusal(request: Request, refusal: DomainError): DomainError {
    const address = networkOf(this.#addressOf(request) ?? "unknown");
    const standing = this.#counts.take(address);
    if (standing.isAllowed) return refusal;
    if (standing.isFirstRefusal) {
      const reason = `There were more than ${wrongMax} wrong credentials in a minute. Right ones are taken all the same.`;
      this.#log.warn({ address, reason }, "credentials.limited");
    }
    return rateLimitError(
      standing,
      `There were more than ${wrongMax} wrong credentials from this address in a minute.`,
    );
  }
}
