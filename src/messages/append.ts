import type { MessageEvent } from "./schemas.ts";
import type { ChannelRow } from "../channels/store.ts";
import type { Transaction } from "../database/database.ts";
import { emit } from "../outbox/emit.ts";
import { messageResource } from "./resource.ts";
import type { Message } from "./schemas.ts";
import type { Author, MessageRow } from "./store.ts";
import { newId, now } from "../system/repeatable.ts";

/** The content of a new message; fields left out are null or false. */
export type Draft = Pick<MessageRow, "type" | "body"> &
  Partial<
    Pick<
      MessageRow,
      | "username"
      | "iconUrl"
      | "incomingWebhookId"
      | "clientUuid"
      | "replyToId"
      | "threadRootId"
      | "sentToChannel"
    >
  >;

/** Appends a message to the channel, emits `message.created` and returns it. The caller has enforced the rules. */
export function appendMessage(tx: Transaction, channel: ChannelRow, author: Author, draft: Draft): Message {
  const row: MessageRow = {
    id: newId(),
    channelId: channel.id,
    authorId: author.id,
    type: draft.type,
    body: draft.body,
    username: draft.username ?? null,
    iconUrl: draft.iconUrl ?? null,
    incomingWebhookId: draft.incomingWebhookId ?? null,
    clientUuid: draft.clientUuid ?? null,
    replyToId: draft.replyToId ?? null,
    threadRootId: draft.threadRootId ?? null,
    sentToChannel: draft.sentToChannel ?? false,
    reactions: "[]",
    createdAt: now(),
    editedAt: null,
    deletedAt: null,
  };
  tx.commit.appended.messages.push(row);
  const message = messageResource(row, author);
  emit<MessageEvent>(tx, channel, { type: "message.created", data: message });
  return message;
}
