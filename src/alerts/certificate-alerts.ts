import type { SubscriptionRow } from "../subscriptions/store.ts";
import { timestamp } from "../timestamp.ts";
import type { Alert } from "./alert.ts";
import type { SaidRow } from "./store.ts";

/** A certificate that ends within this time is told of, in milliseconds. */
const nearMs = 14 * 24 * 60 * 60_000;

/** What there is to say about the certificate of the subscription's receiver: once for each certificate. */
export function certificateAlert(
  { id, name, status, certificateEndsAt: endsAt }: SubscriptionRow,
  said: ReadonlyMap<string, SaidRow>,
  now: number,
): Alert | undefined {
  const about = `certificate:${id}`;
  const state = `ends ${endsAt}`;
  if (status !== "active" || endsAt === null || endsAt - now > nearMs) return undefined;
  if (said.get(about)?.state === state) return undefined;
  const when = `${endsAt > now ? "ends" : "ended"} at ${timestamp(endsAt)}`;
  const body =
    `The certificate of the receiver of the webhook “${name}” ${when}. ` +
    "Without a new one from its operator, deliveries fail from then on.";
  return { about, state, body };
}
