import { getChannelNamed } from "../../src/channels/channels.ts";
import type { SubscriptionParts } from "../../src/subscriptions/subscriptions.ts";
import type { InTeam, Invocation } from "./invocation.ts";
import { outgoing } from "./outgoing.ts";

/**
 * What creating and editing a subscription depend on, with the same settings as the server's.
 * @throws DomainError `invalid` for a setting that does not parse.
 */
export function subscriptionParts(invocation: Invocation, { database }: InTeam): SubscriptionParts {
  const { output } = invocation;
  const { vault, outgoing: sending } = outgoing(invocation);
  // The reason may describe the private network, so only the server's operator gets it: the reader of this.
  const log = {
    warn({ detail }: { detail: string }) {
      output.note(`The URL was refused: ${detail}.`);
      if (sending.guard.blockPrivate)
        output.note("WEBHOOKS_ALLOW_ADDRESSES opens networks of your own to deliveries.");
    },
  };
  const { webhooksMaxSubscriptions: maxSubscriptions } = invocation.config();
  return { database, vault, guard: sending.guard, log, maxSubscriptions };
}

/** The ids of the channels that the options refer to. */
export async function channelIdsOf(
  { database, team }: InTeam,
  references: readonly string[],
): Promise<string[]> {
  return await database.ask(async (db) => {
    const ids: string[] = [];
    for (const reference of references) ids.push((await getChannelNamed(db, team.id, reference)).id);
    return ids;
  });
}
