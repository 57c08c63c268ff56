import type { ReactionEvent } from "./schemas.ts";
import type { ChannelRow } from "../channels/store.ts";
import { getSeenChannel, requireWritable } from "../channels/access.ts";
import type { Connection, Transaction } from "../database/database.ts";
import { shortcodeName } from "../emoji/emoji.ts";
import { hasEmoji } from "../emoji/store.ts";
import { canonicalEmoji } from "../emoji/unicode.ts";
import { type DomainError, invalid } from "../errors.ts";
import { emit } from "../outbox/emit.ts";
import { getMessageIn } from "../messages/messages.ts";
import { reactionsOf } from "../messages/resource.ts";
import type { ReactionSummary } from "../messages/schemas.ts";
import { type MessageRow, updateReactions } from "../messages/store.ts";
import type { Subject } from "../subject.ts";
import { isWithin } from "../input/text.ts";
import { userResource } from "../users/users.ts";
import { deleteReaction, insertReaction } from "./store.ts";
import { now } from "../system/repeatable.ts";

/** Maximum length of the emoji in the path, in code points after decoding (specification part 8). */
const emojiLengthMax = 32;

/** Maximum number of different emoji on a message: every response with the message contains all of them. */
export const emojiOfMessageMax = 50;

/**
 * Adds the subject's reaction to the message. Idempotent (specification part 4, reactions).
 * @throws DomainError `not_found`; `forbidden` when the subject is not a member or the channel is archived; `invalid`
 *   on `emoji` unless it is one Unicode emoji or a custom emoji of the team, beyond the limit of different emoji, and
 *   for a tombstone or a system notice.
 */
export async function addReaction(
  tx: Transaction,
  subject: Subject,
  channelId: string,
  messageId: string,
  text: string,
): Promise<void> {
  const { channel, message } = getPlace(tx, subject, channelId, messageId);
  if (message.deletedAt !== null) throw unfit("A deleted message does not take reactions.");
  if (message.type !== "standard") throw unfit("A system notice does not take reactions.");
  if (!isWithin(text, emojiLengthMax))
    throw unfit(`The emoji must not be longer than ${emojiLengthMax} characters.`);
  const emoji = await findEmoji(tx, subject.teamId, text);
  if (emoji === undefined)
    throw unfit("The emoji must be one emoji, or the :name: of an emoji of this workspace.");
  if (isFullFor(message, emoji)) throw unfit(`A message takes at most ${emojiOfMessageMax} different emoji.`);

  const reaction = { messageId: message.id, emoji, userId: subject.id };
  if (!(await insertReaction(tx, reaction, now()))) return;
  await updateReactions(tx, message.id, JSON.stringify(withOneMore(message, emoji)));
  emit<ReactionEvent>(tx, channel, {
    type: "reaction.added",
    data: { channel_id: channel.id, message_id: message.id, emoji, user: userResource(subject) },
  });
}

/**
 * Removes the subject's reaction from the message. Does nothing for a reaction that is not there or for text that is no
 * emoji (specification part 4, reactions).
 * @throws DomainError `not_found`; `forbidden` when the subject is not a member or the channel is archived.
 */
export async function removeReaction(
  tx: Transaction,
  subject: Subject,
  channelId: string,
  messageId: string,
  text: string,
): Promise<void> {
  const { message } = getPlace(tx, subject, channelId, messageId);
  if (message.deletedAt !== null) return;
  // A shortcode is not looked up: its custom emoji may have been removed since.
  const emoji = shortcodeName(text) === undefined ? canonicalEmoji(text) : text;
  if (emoji === undefined) return;

  if (!(await deleteReaction(tx, { messageId: message.id, emoji, userId: subject.id }))) return;
  await updateReactions(tx, message.id, JSON.stringify(withOneLess(message, emoji)));
}

/**
 * Returns the message and its channel for a subject who may write there.
 * @throws DomainError `not_found`; `forbidden`.
 */
function getPlace(
  db: Connection,
  subject: Subject,
  channelId: string,
  messageId: string,
): { channel: ChannelRow; message: MessageRow } {
  const seen = getSeenChannel(db, subject, channelId);
  const { message } = getMessageIn(db, seen.channel.id, messageId);
  requireWritable(seen);
  return { channel: seen.channel, message };
}

async function findEmoji(db: Connection, teamId: string, text: string): Promise<string | undefined> {
  const name = shortcodeName(text);
  if (name === undefined) return canonicalEmoji(text);
  return (await hasEmoji(db, teamId, name)) ? text : undefined;
}

function isFullFor(message: MessageRow, emoji: string): boolean {
  const summary = reactionsOf(message);
  return summary.length >= emojiOfMessageMax && !summary.some((reaction) => reaction.emoji === emoji);
}

function withOneMore(message: MessageRow, emoji: string): ReactionSummary[] {
  const summary = reactionsOf(message);
  const used = summary.find((reaction) => reaction.emoji === emoji);
  if (!used) return [...summary, { emoji, count: 1 }];
  used.count++;
  return summary;
}

function withOneLess(message: MessageRow, emoji: string): ReactionSummary[] {
  return reactionsOf(message)
    .map((reaction) => (reaction.emoji === emoji ? { emoji, count: reaction.count - 1 } : reaction))
    .filter(({ count }) => count > 0);
}

function unfit(message: string): DomainError {
  return invalid({ emoji: [message] });
}
