import { type AddressGuard, vet } from "../outbound/address-guard.ts";
import type { FieldErrors } from "../errors.ts";
import type { Log } from "../log/log.ts";

/** How long a name look-up at registration may take, in milliseconds. */
const lookUpMs = 5_000;

/**
 * Judges the address of a new subscription by the public-address rule (specification part 6, rule 4). Returns errors by
 * field, none when it is fine. What is wrong with its text is said. For a name or an address that is not public there is
 * one message, whatever the reason: the detail would tell a stranger what the network looks like from the inside, so it
 * stands in the log only. A name that does not resolve at this moment breaks no rule: its
 * DNS may not be set up yet or be out of order, and every delivery looks again.
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
