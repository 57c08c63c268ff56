import type { Config } from "../../src/config.ts";
import type { Connection } from "../../src/database/database.ts";
import { findCreator, type NamedSubscription } from "../../src/subscriptions/creators.ts";
import type { RevokedAccess } from "../../src/accounts/revoke-access.ts";

/** How many subscriptions a line lists by name; the JSON has all of them. */
const namesShown = 10;

/** The creator of a subscription for people: `Ada`, `Build Bot (deleted)`, `cli:root`, `unknown`. */
export function creatorTitle(db: Connection, teamId: string, createdBy: string): string {
  const { name, isGone, isBot } = findCreator(db, teamId, createdBy);
  return isGone ? `${name} (${isBot ? "deleted" : "deactivated"})` : name;
}

/** Lines for people about the subscriptions of a user who was deactivated or deleted. */
export function webhooksOfGone(
  { name, disabled_webhooks: disabled = [], kept_webhooks: kept = [] }: RevokedAccess & { name: string },
  { webhooksVisibility }: Pick<Config, "webhooksVisibility">,
): string[] {
  const followsCreators = webhooksVisibility === "creator";
  if (disabled.length > 0) {
    const then = followsCreators
      ? `Their pending events stay; while ${name} is gone, nothing more is queued (WEBHOOKS_VISIBILITY=creator).`
      : "Their events wait until they are enabled again: parley webhooks enable ID";
    return [`Disabled ${named(disabled)}, created by ${name}.`, then];
  }
  if (kept.length === 0) return [];
  const then = `Even so, nothing is sent to them while ${name} is gone (WEBHOOKS_VISIBILITY=creator).`;
  return [`Left enabled: ${named(kept)}, created by ${name}.`, ...(followsCreators ? [then] : [])];
}

/** Lines for people about the disabled subscriptions of a reactivated user, and how to enable them; maybe none. */
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

/** A line for people if the creator of a subscription is gone, since enabling it does not change that; else none. */
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

/** "2 subscriptions (CI, Deploys)"; of many, the first names and "and 90 others". */
function named(subscriptions: readonly NamedSubscription[]): string {
  const { length } = subscriptions;
  const names = subscriptions.slice(0, namesShown).map(({ name }) => name);
  const others = length > namesShown ? [`and ${(length - namesShown).toLocaleString("en")} others`] : [];
  const count = length === 1 ? "1 subscription" : `${length.toLocaleString("en")} subscriptions`;
  return `${count} (${[...names, ...others].join(", ")})`;
}
