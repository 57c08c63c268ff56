import { type AddressGuard, vet } from "../outbound/address-guard.ts";
import type { FieldErrors } from "../errors.ts";
import type { Log } from "../log/log.ts";

/** The time limit for a DNS look-up at registration, in milliseconds. */
const lookUpMs = 5_000;

/**
 * Checks the URL of a new subscription against the public-address rule (specification part 6, rule 4). Returns errors
 * by field; none when the URL is acceptable. A malformed URL gets a specific message. A name or address that is not
 * public always gets the same message: details would reveal the internal network, so they are only logged. A name that
 * does not resolve at the moment breaks no rule, because its DNS may not be set up yet or may be failing, and every
 * delivery checks again.
 */
export async function urlErrors(
  url: string,
  guard: AddressGuard,
  log: Pick<Log, "warn">,
): Promise<FieldErrors> {
  const vetted = await vet(url, guard, lookUpMs);
  if (vetted.ok || vetted.reason === "unresolvable") return {};
  if (vetted.reason === "malformed") return { url: [`The url field cannot be used: ${vetted.detail}.`] };
  log.warn({ detail: vetted.detail }, "webhook.url_refused");
  return { url: ["The url field must be a publicly reachable http or https address."] };
}
