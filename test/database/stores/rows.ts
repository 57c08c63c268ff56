import type { Transaction } from "../../../src/database/database.ts";
import type { channels, subscriptions, users } from "../../../src/database/schema.ts";

/** Calls of the functions of one store, in the order in which they run. Those of all stores follow one another. */
export type StoreCalls = {
  module: object;
  calls: Record<string, Array<(tx: Transaction) => unknown>>;
};

/** In milliseconds since 1970: too large for 32 bits. */
export const at = 1_785_000_000_000;

export const teamId = "team-1";

type User = typeof users.$inferSelect;

/** A member of the team whose id is `u-` and the name. */
export function user(name: string, rest: Partial<User> = {}): User {
  return {
    id: `u-${name}`,
    teamId,
    type: "human",
    name,
    email: null,
    role: "member",
    deactivatedAt: null,
    createdAt: at,
    userName: name,
    externalId: null,
    displayName: null,
    givenName: null,
    familyName: null,
    formattedName: null,
    removedAt: null,
    updatedAt: at,
    ...rest,
  };
}

type Channel = Omit<typeof channels.$inferSelect, "lastPosition">;

/** A channel of the team whose id is `c-` and the name. */
export function channel(name: string, rest: Partial<Channel> = {}): Channel {
  return {
    id: `c-${name}`,
    teamId,
    name,
    slug: name.toLowerCase(),
    visibility: "public",
    topic: null,
    isGeneral: false,
    isArchived: false,
    isDirect: false,
    createdBy: "u-Ann",
    createdAt: at,
    isManaged: false,
    externalId: null,
    updatedAt: at,
    ...rest,
  };
}

type Subscription = typeof subscriptions.$inferSelect;

export function subscription(id: string, rest: Partial<Subscription> = {}): Subscription {
  return {
    id,
    teamId,
    name: id,
    url: "https://example.com/",
    events: "message.created",
    channelIds: null,
    status: "active",
    consecutiveFailures: 0,
    lastSuccessAt: null,
    disabledAt: null,
    secret: Buffer.from([0, 1, 255]),
    previousSecret: null,
    previousSecretUntil: null,
    deletedAt: null,
    createdAt: at,
    createdBy: "human:u-Ann",
    afterEvent: 0,
    headers: null,
    headerNames: "",
    certificateEndsAt: null,
    ...rest,
  };
}
