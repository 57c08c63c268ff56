import type { Transaction } from "../database/database.ts";
import { invalid } from "../errors.ts";
import { now } from "../system/repeatable.ts";
import { messageResource } from "./resource.ts";
import type { Message } from "./schemas.ts";
import { selectIdempotencyKey, upsertIdempotencyKey } from "./once-store.ts";
import { selectMessage } from "./store.ts";

/** How long a key is kept, in milliseconds. */
export const keyLifeMs = 24 * 60 * 60 * 1000;

/** What a request says to be posted once: a repetition with the same key makes no second message. */
export type Once = {
  /** Whose key it is: the same key of another token or webhook is another one. */
  holder: string;
  key: string;
  /** What is posted, and where: under the same key nothing else may be. Undefined where a repetition may differ. */
  post: string | undefined;
};

/**
 * Returns the message that was posted under the key in the last 24 hours, as it is now; undefined when none was.
 * @throws DomainError `invalid` for a key that is not 1 to 255 printable ASCII characters, or that something else was
 *   posted under.
 */
export function firstPosted(tx: Transaction, once: Once): Message | undefined {
  if (!/^[\x20-\x7E]{1,255}$/.test(once.key))
    throw wrongKey("The Idempotency-Key header must have 1 to 255 printable ASCII characters.");
  const known = selectIdempotencyKey(tx, idOf(once));
  if (!known || known.createdAt <= now() - keyLifeMs) return undefined;
  const post = hashOfPost(once);
  if (known.post !== "" && post !== "" && known.post !== post)
    throw wrongKey(
      "Something else was posted under this Idempotency-Key in the last 24 hours: use a new key for each message, and the same key only to repeat a request.",
    );
  const first = selectMessage(tx, known.channelId, known.messageId);
  return first && messageResource(first.message, first.author);
}

/** Keeps the key with the message that was posted under it, in the same commit. */
export function keepKey(tx: Transaction, once: Once, message: Message): void {
  upsertIdempotencyKey(tx, {
    id: idOf(once),
    post: hashOfPost(once),
    channelId: message.channel_id,
    messageId: message.id,
    createdAt: now(),
  });
}

function idOf({ holder, key }: Once): string {
  return hashed(`${holder} ${key}`);
}

function hashOfPost({ post }: Once): string {
  return post === undefined ? "" : hashed(post);
}

function hashed(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("base64url");
}

function wrongKey(message: string) {
  return invalid({ "Idempotency-Key": [message] });
}
