import type { Once } from "../../messages/once.ts";
import type { Sender } from "./sender.ts";

/**
 * What the post is to be made once for: its `Idempotency-Key`, or else the name that the sender gives the delivery, which
 * counts for the same bytes at the same address alone. Undefined where there is neither.
 */
export function onceOf(
  webhookId: string,
  sender: Sender | undefined,
  headers: Headers,
  bytes: Uint8Array,
): Once | undefined {
  const key = headers.get("idempotency-key");
  const delivery = key === null ? (sender?.deliveryOf?.(headers) ?? null) : null;
  if (key === null && delivery === null) return undefined;
  const suffix = sender?.suffix ?? "";
  const hash = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  if (key !== null) return { holder: webhookId, key, post: `${suffix} ${hash}` };
  // Not a key of the sender's own choice: whatever it is, it must neither be refused nor hide another post.
  const named = new Bun.CryptoHasher("sha256").update(`${delivery} ${hash}`).digest("hex");
  return { holder: `${webhookId} ${suffix}`, key: named, post: undefined };
}
