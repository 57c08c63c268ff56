import type { Config } from "../../src/config.ts";
import type { Connection } from "../../src/database/database.ts";
import { findCreator, type NamedSubscription } from "../../src/subscriptions/creators.ts";
import type { RevokedAccess } from "../../src/accounts/revoke-access.ts";

/** So many subscriptions are named to a person; all of them are in the JSON. */
const namesShown = 10;

/** Who created a subscription, as people call them: `Ada`, `Build Bot (deleted)`, `cli:root`, `unknown`. */
export function creatorTitle(db: Connection, teamId: string, createdBy: string): string {
  const { name, isGone, isBot } = findCreator(db, teamId, createdBy);
  return isGone ? `${name} (${isBot ? "deleted" : "deactivated"})` : name;
}

/** What became of the subscriptions of somebody who was deactivated or deleted, in lines for people. */
export function webhooksOfGone(
  { name, disabled_webhooks: disabled = [], kept_webhooks: kept = [] }: RevokedAccess & { name: string },
  { webhooksVisibility }: Pick<Config, "webhooksVisibility">,
): string[] {
  const followsCreators = webhooksVisibility === "creator";
  if (disabled.length > 0) {
    const then = followsCreators
      ? `What waits for them stays; as long as ${name} is gone, nothing more is queued (WEBHOOKS_VISIBILITY=creator).`
      : "Their events wait until they are enabled: parley webhooks enable ID";
    return [`Disabled ${named(disabled)}, created by ${name}.`, then];
  }
  if (kept.length === 0) return [];
  const then = `As long as ${name} is gone, nothing is sent to them all the same (WEBHOOKS_VISIBILITY=creator).`;
  return [`Left ${named(kept)} on, created by ${name}.`, ...(followsCreators ? [then] : [])];
}

/** What is still off of the subscriptions of somebody who is back, and how it is enabled, in lines for people. */
export function webhooksOfReturned({
  name,
  disabled_webhooks: disabled = [],
}: Pick<RevokedAccess, "disabled_webhooks"> & { name: string }): string[] {
  const [first] = disabled;
  if (!first) return [];
  return [
    `Still disabled: ${named(disabled)}, created by ${name}.`,
    `Enable each one with: parley webhooks enable ${disabled.length === 1 ? first.id : "ID"}`,
  ];
}

/** That the one who created a subscription is gone, which its enabling does not change; no line while they are there. */
export function goneCreator(
  db: Connection,
  teamId: string,
  createdBy: string,
  { webhooksVisibility }: Pick<Config, "webhooksVisibility">,
): string[] {
  if (!findCreator(db, teamId, createdBy).isGone) return [];
  const then =
    webhooksVisibility === "creator" ? ", so nothing is sent to it (WEBHOOKS_VISIBILITY=creator)" : "";
  return [`It was created by ${creatorTitle(db, teamId, createdBy)}${then}.`];
}

/** "2 subscriptions (CI, Deploys)", of many the first names and how many others there are. */
function named(subscriptions: readonly NamedSubscription[]): string {
  const { length } = subscriptions;
  const names = subscriptions.slice(0, namesShown).map(({ name }) => name);
  const others = length > namesShown ? [`and ${(length - namesShown).toLocaleString("en")} others`] : [];
  const count = length === 1 ? "1 subscription" : `${length.toLocaleString("en")} subscriptions`;
  return `${count} (${[...names, ...others].join(", ")})`;
}
