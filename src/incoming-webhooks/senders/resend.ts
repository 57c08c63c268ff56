import { isMember } from "../../channels/member-store.ts";
import type { Transaction } from "../../database/database.ts";
import { DomainError, forbidden } from "../../errors.ts";
import { record } from "../../audit/audit.ts";
import type { Once } from "../../messages/once.ts";
import type { Message } from "../../messages/schemas.ts";
import { getIncomingWebhook } from "../incoming-webhooks.ts";
import { appendIncoming } from "../ingest.ts";
import type { IncomingPayload } from "../payload.ts";
import type { OpenedPost, RefusedPost } from "../refused-posts.ts";
import { deleteRefusedPost } from "../refused-store.ts";
import { onceOf } from "./once-of.ts";
import { messageIn, payloadOf } from "./read-post.ts";
import type { Sender } from "./sender.ts";
import { recognizedSender, senderOf } from "./senders.ts";

/** A refused post, ready to be posted. */
export type Resendable = {
  post: RefusedPost;
  /** The end of the address whose form it is read in; empty for the specified one. */
  readAs: string;
  /** What it is made once for, as when it arrived. */
  once: Once | undefined;
  message: IncomingPayload;
};

/**
 * Reads a refused post once more: in the form of the address that it came to, or else in that of the sender that it
 * looks like.
 * @throws DomainError `forbidden` for a post that is not kept as a whole, or whose sender is in doubt; `invalid` when no
 *   form takes it.
 */
export async function readRefusedPost(webhookId: string, opened: OpenedPost): Promise<Resendable> {
  const { post, bytes, suffix } = opened;
  if (post.code === "unauthenticated")
    throw forbidden("Nobody has proven that this post came from the sender: have it sent again, signed.");
  if (opened.isSuperseded) throw superseded();
  if (!post.can_be_resent) throw forbidden("The post was too long to be kept as a whole.");
  const headers = new Headers(opened.headers);
  const own = suffix === "" ? undefined : senderOf(suffix);
  const once = onceOf(webhookId, own, headers, bytes);
  const read = async (sender: Sender | undefined): Promise<Resendable> => {
    const message = messageIn(sender, await payloadOf(sender, bytes, headers), headers);
    return { post, readAs: sender === undefined ? "" : `/${sender.suffix}`, once, message };
  };
  try {
    return await read(own);
  } catch (error) {
    const other = recognizedSender({ payload: await payloadOf(undefined, bytes, headers), headers });
    if (!(error instanceof DomainError) || other === undefined || other === own) throw error;
    return await read(other);
  }
}

/**
 * Posts a refused post that has been read, and keeps it no longer. Returns the message; where it was posted under its key
 * meanwhile, the message from that time.
 * @throws DomainError `not_found` when the webhook is revoked or the post was resent meanwhile; `forbidden` when the bot
 *   is not in the channel, the channel is archived, or what the sender knew was replaced meanwhile.
 */
export async function resendRefusedPost(
  tx: Transaction,
  { teamId, webhookId }: { teamId: string; webhookId: string },
  { post, readAs, once, message }: Resendable,
  actor: string,
): Promise<Message> {
  const found = await getIncomingWebhook(tx, teamId, webhookId);
  const kept = await deleteRefusedPost(tx, post.id);
  if (!kept)
    throw new DomainError("not_found", "The post was resent meanwhile, or newer ones took its place.");
  if (kept.isSuperseded) throw superseded();
  const live = { ...found, isMember: isMember(tx, found.channel.id, found.bot.id) };
  const posted = appendIncoming(tx, live, () => message, once);
  await record(tx, {
    teamId,
    actor,
    action: "incoming_webhook.post_resent",
    target: `incoming_webhook:${webhookId}`,
    details: { name: found.webhook.name, message: posted.id, address: readAs },
  });
  return posted;
}

function superseded(): DomainError {
  return forbidden(
    "The address or the secret that this post came with has been replaced since: have it sent again.",
  );
}
