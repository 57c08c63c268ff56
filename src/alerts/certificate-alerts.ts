import type { SubscriptionRow } from "../subscriptions/store.ts";
import { timestamp } from "../timestamp.ts";
import type { Alert } from "./alert.ts";
import type { SaidRow } from "./store.ts";

/** A certificate that ends within this time is told of, in milliseconds. */
export const nearEndMs = 14 * 24 * 60 * 60_000;

/** What was said is kept as this, followed by the end in milliseconds since 1970. */
const prefix = "ends ";

/**
 * What there is to say about the certificate of the subscription's receiver: once for each certificate, and of one that
 * ends later than one told of, once that has ended. So a receiver on several machines, each with its own certificate, is
 * not told of each time that another one answers.
 */
export function certificateAlert(
  { id, name, status, certificateEndsAt: endsAt }: SubscriptionRow,
  said: ReadonlyMap<string, SaidRow>,
  now: number,
): Alert | undefined {
  const about = `certificate:${id}`;
  if (status !== "active" || endsAt === null || endsAt - now > nearEndMs) return undefined;
  const told = Number(said.get(about)?.state.slice(prefix.length) ?? Infinity);
  if (endsAt === told || (endsAt > told && told > now)) return undefined;
  const when = `${endsAt > now ? "ends" : "ended"} at ${timestamp(endsAt)}`;
  const body =
    `The certificate of the receiver of the webhook “${name}” ${when}. ` +
    "Without a new one from its operator, deliveries fail from then on.";
  return { about, state: `${prefix}${endsAt}`, body };
}
