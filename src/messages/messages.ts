import type { MessageEvent } from "./schemas.ts";
import { getSeenChannel, requireWritable } from "../channels/access.ts";
import { beside } from "../database/beside.ts";
import type { Connection, Transaction } from "../database/database.ts";
import { forbidden, invalid, notFound } from "../errors.ts";
import { emit } from "../outbox/emit.ts";
import type { Subject } from "../subject.ts";
import { isUuid } from "../input/text.ts";
import { checkOf } from "../input/validation.ts";
import { appendMessage } from "./append.ts";
import { firstPosted, keepKey, type Once } from "./once.ts";
import { messageResource } from "./resource.ts";
import { type Message, MessageEdit, MessageInput } from "./schemas.ts";
import {
  type AuthoredMessage,
  selectMessage,
  selectMessageByClientUuid,
  updateBody,
  updateToTombstone,
} from "./store.ts";
import { now } from "../system/repeatable.ts";

const checkMessageInput = checkOf(MessageInput);
const checkEdit = checkOf(MessageEdit);

/**
 * Returns the message, tombstones and notices included.
 * @throws DomainError `not_found` when the subject cannot see the channel or the message is not in it.
 */
export function getMessage(db: Connection, subject: Subject, channelId: string, messageId: string): Message {
  const { channel } = getSeenChannel(db, subject, channelId);
  const { message, author } = getMessageIn(db, channel.id, messageId);
  return messageResource(message, author);
}

/**
 * Posts a message as the subject and returns it. A `client_uuid` that the subject already used in this channel
 * returns the message from that time, unchanged (specification part 4, messages), and so does a key of `once`.
 * @throws DomainError `not_found`; `forbidden` when the subject is not a member or the channel is archived; `invalid`
 *   on a field, on `reply_to_id` and `thread_root_id` also when the target cannot be replied to.
 */
export function postMessage(
  tx: Transaction,
  subject: Subject,
  channelId: string,
  input: unknown,
  once?: Once,
): Message {
  const seen = getSeenChannel(tx, subject, channelId);
  requireWritable(seen);
  const draft = checkMessageInput(input);
  const { channel } = seen;

  const repeated = once && firstPosted(tx, once);
  if (repeated) return repeated;
  const clientUuid = draft.client_uuid?.toLowerCase() ?? null;
  if (clientUuid !== null) {
    const first = selectMessageByClientUuid(tx, channel.id, subject, clientUuid);
    if (first) return messageResource(first.message, first.author);
  }

  const replyTo = draft.reply_to_id && findTarget(tx, channel.id, draft.reply_to_id);
  const threadRoot = draft.thread_root_id && findTarget(tx, channel.id, draft.thread_root_id);
  const errors: Record<string, string[]> = {};
  if (replyTo === "unfit") {
    errors.reply_to_id = ["The reply_to_id field must name a message of this channel that is not deleted."];
  }
  if (threadRoot === "unfit") {
    errors.thread_root_id = [
      "The thread_root_id field must name a message of this channel that is not deleted.",
    ];
  } else if (threadRoot && threadRoot.threadRootId !== null) {
    errors.thread_root_id = [
      "The thread_root_id field must not name a thread reply: threads are one level deep.",
    ];
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);

  const message = appendMessage(tx, channel, subject, {
    type: "standard",
    body: draft.body,
    clientUuid,
    replyToId: draft.reply_to_id?.toLowerCase() ?? null,
    threadRootId: draft.thread_root_id?.toLowerCase() ?? null,
    sentToChannel: draft.sent_to_channel ?? false,
  });
  if (once) keepKey(tx, once, message);
  return message;
}

/**
 * Replaces the body of the subject's own message, marks it as edited and returns it (specification part 4, messages).
 * @throws DomainError `not_found`, also for a tombstone; `forbidden` for someone else's message, for a system notice,
 *   and when the subject is not a member or the channel is archived; `invalid` on `body`.
 */
export async function editMessage(
  tx: Transaction,
  subject: Subject,
  channelId: string,
  messageId: string,
  input: unknown,
): Promise<Message> {
  const seen = getSeenChannel(tx, subject, channelId);
  const { message, author } = getMessageIn(tx, seen.channel.id, messageId);
  if (message.deletedAt !== null) throw notFound("message");
  requireWritable(seen);
  requireOwn(subject, { message, author });
  const { body } = checkEdit(input);
  const editedAt = now();
  await updateBody(tx, message.id, body, editedAt);
  const edited = messageResource({ ...message, body, editedAt }, author);
  emit<MessageEvent>(tx, seen.channel, { type: "message.updated", data: edited });
  return edited;
}

/**
 * Turns the subject's own message into a tombstone. Idempotent (specification part 4, messages).
 * @throws DomainError `not_found`; `forbidden` as `editMessage`.
 */
export async function deleteMessage(
  tx: Transaction,
  subject: Subject,
  channelId: string,
  messageId: string,
): Promise<void> {
  const seen = getSeenChannel(tx, subject, channelId);
  const found = getMessageIn(tx, seen.channel.id, messageId);
  requireWritable(seen);
  requireOwn(subject, found);
  if (found.message.deletedAt !== null) return;
  await updateToTombstone(tx, found.message.id, now());
  const tombstone = messageResource({ ...found.message, body: "", reactions: "[]" }, found.author);
  emit<MessageEvent>(tx, seen.channel, { type: "message.deleted", data: tombstone });
}

/**
 * Returns the message of this id with its author.
 * @throws DomainError `not_found` when the channel has no such message.
 */
export function getMessageIn(db: Connection, channelId: string, messageId: string): AuthoredMessage {
  const found = isUuid(messageId) ? selectMessage(db, channelId, messageId.toLowerCase()) : undefined;
  if (!found) throw notFound("message");
  return found;
}

function requireOwn(subject: Subject, { message }: AuthoredMessage): void {
  if (message.type !== "standard") throw forbidden("A system notice cannot be changed.");
  if (message.authorId !== subject.id) throw forbidden("Only its author may change a message.");
}

/** The message that a reply refers to; `unfit` unless it is a standard message of the channel, not deleted. */
function findTarget(tx: Transaction, channelId: string, id: string) {
  // Nobody knows the id of a message before its commit, so those put down in this one do not matter.
  const found = beside(tx, () => selectMessage(tx, channelId, id.toLowerCase()));
  if (!found || found.message.type !== "standard" || found.message.deletedAt !== null) return "unfit";
  return found.message;
}
