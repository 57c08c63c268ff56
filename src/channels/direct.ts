import type { Transaction } from "../database/database.ts";
import { invalid } from "../errors.ts";
import type { UserRow } from "../users/store.ts";
import { addChannel, channelResource } from "./channels.ts";
import type { Channel } from "./schemas.ts";
import { selectChannelsNamed } from "./store.ts";

/**
 * Returns the direct-message channel of two users of one team; creates it if there is none.
 * @throws DomainError `invalid` on `user` when both are the same user or either is deactivated.
 */
export async function openDirect(
  tx: Transaction,
  one: UserRow,
  other: UserRow,
  actor: string,
): Promise<Channel> {
  if (one.id === other.id) throw invalid({ user: ["A direct message needs two different users."] });
  const gone = [one, other].find((user) => user.deactivatedAt !== null);
  if (gone) throw invalid({ user: [`${gone.name} is deactivated.`] });

  const pair = [one, other].sort((a, b) => (a.id < b.id ? -1 : 1));
  // The slug of a named channel never contains a dot, so it cannot collide. The order makes the pair's slug unique.
  const slug = `direct.${pair.map((user) => user.id).join(".")}`;
  const [existing] = await selectChannelsNamed(tx, one.teamId, slug);
  if (existing) return channelResource(existing);

  const channel = {
    teamId: one.teamId,
    name: pair.map((user) => user.name).join(", "),
    visibility: "private" as const,
    topic: null,
    isGeneral: false,
    members: pair.map((user) => user.id),
    createdBy: null,
    directSlug: slug,
  };
  return channelResource(await addChannel(tx, channel, actor));
}
