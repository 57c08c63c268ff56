import type { Transaction } from "../database/database.ts";
import { invalid } from "../errors.ts";
import type { UserRow } from "../users/store.ts";
import { addChannel, channelResource } from "./channels.ts";
import type { Channel } from "./schemas.ts";
import { selectChannelsNamed } from "./store.ts";

/**
 * The direct-message conversation of two users of one team, made where there is none yet.
 * @throws DomainError `invalid` on `user` when it is one and the same, or one is deactivated.
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
  // A dot never stands in the slug of a named channel, so the two cannot meet; one pair has one conversation.
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
