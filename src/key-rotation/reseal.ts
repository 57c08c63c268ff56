import type { Database, Transaction } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import { placeOf as placeOfPost } from "../incoming-webhooks/refused-posts.ts";
import {
  deleteRefusedPost,
  selectSealedPosts,
  updateRefusedPost,
} from "../incoming-webhooks/refused-store.ts";
import { selectSealedWebhooks, updateIncomingWebhook } from "../incoming-webhooks/store.ts";
import type { Vault } from "../secrets/vault.ts";
import { placeOfHeaders } from "../subscriptions/headers.ts";
import { selectSealedSubscriptions } from "../subscriptions/secret-store.ts";
import { updateSubscription } from "../subscriptions/store.ts";

/** The number of secrets of each kind: encrypted with the workspace's key, or readable with none. */
export type SecretCounts = { readable: number; unreadable: number };

/** The outcome for the rows of one write, and the id of its last row; undefined when no row was left. */
type Page = SecretCounts & { lastId: string | undefined };

/** The number of rows in one write, which then takes a few milliseconds. */
const rowsPerWrite = 50;

/** The shortest pause between two writes, in milliseconds. A server that waits for the lock tries more often. */
const pauseMs = 5;

/** Each kind of row with sealed secrets: how to encrypt those after an id anew. */
const kinds = [resealSubscriptions, resealWebhooks, resealRefusedPosts];

/**
 * Encrypts every stored secret anew that is not encrypted with the workspace's key, in small writes that let other
 * processes write in between. `onProgress` is called after each with the number of secrets so far. Secrets that no key
 * of the vault can read are left as they are.
 */
export async function resealAll(
  database: Database,
  vault: Vault,
  onProgress: (secrets: number) => void,
): Promise<SecretCounts> {
  const counts = { readable: 0, unreadable: 0 };
  for (const reseal of kinds) {
    let after: string | undefined = "";
    while (after !== undefined) {
      const startedAt = performance.now();
      const afterId: string = after;
      const page: Page = await database.write((tx) => reseal(tx, vault, afterId));
      counts.readable += page.readable;
      counts.unreadable += page.unreadable;
      after = page.lastId;
      onProgress(counts.readable + counts.unreadable);
      // As long as the write took, so that at least half of the time is left to others.
      if (after !== undefined) await Bun.sleep(Math.max(pauseMs, performance.now() - startedAt));
    }
  }
  return counts;
}

async function resealSubscriptions(tx: Transaction, vault: Vault, afterId: string): Promise<Page> {
  const rows = await selectSealedSubscriptions(tx, afterId, rowsPerWrite);
  const page: Page = { readable: 0, unreadable: 0, lastId: rows.at(-1)?.id };
  for (const { id, secret, previousSecret, headers } of rows) {
    const anew = await resealed(tx, vault, secret, `subscriptions:${id}`, page);
    const previous =
      previousSecret && (await resealed(tx, vault, previousSecret, `subscriptions:${id}`, page));
    const newHeaders = headers && (await resealed(tx, vault, headers, placeOfHeaders(id), page));
    if (!anew && !previous && !newHeaders) continue;
    await updateSubscription(tx, id, {
      ...(anew && { secret: anew }),
      ...(previous && { previousSecret: previous }),
      ...(newHeaders && { headers: newHeaders }),
    });
  }
  return page;
}

async function resealWebhooks(tx: Transaction, vault: Vault, afterId: string): Promise<Page> {
  const rows = await selectSealedWebhooks(tx, afterId, rowsPerWrite);
  const page: Page = { readable: 0, unreadable: 0, lastId: rows.at(-1)?.id };
  for (const { id, secret, previousSecret } of rows) {
    const anew = secret && (await resealed(tx, vault, secret, `incoming_webhooks:${id}`, page));
    const previous =
      previousSecret && (await resealed(tx, vault, previousSecret, `incoming_webhooks:${id}`, page));
    if (!anew && !previous) continue;
    await updateIncomingWebhook(tx, id, {
      ...(anew && { secret: anew }),
      ...(previous && { previousSecret: previous }),
    });
  }
  return page;
}

/** Refused posts are no secrets that anybody could replace: they are not counted, and dropped where no key reads them. */
async function resealRefusedPosts(tx: Transaction, vault: Vault, afterId: string): Promise<Page> {
  const rows = await selectSealedPosts(tx, afterId, rowsPerWrite);
  const counts = { readable: 0, unreadable: 0 };
  for (const { id, post } of rows) {
    const before = counts.unreadable;
    const anew = await resealed(tx, vault, post, placeOfPost(id), counts);
    if (anew) await updateRefusedPost(tx, id, anew);
    else if (counts.unreadable > before) await deleteRefusedPost(tx, id);
  }
  return { readable: 0, unreadable: 0, lastId: rows.at(-1)?.id };
}

/** The secret encrypted anew; undefined when it need not or cannot be. Counts it either way. */
async function resealed(
  tx: Transaction,
  vault: Vault,
  stored: Buffer,
  place: `${string}:${string}`,
  counts: SecretCounts,
): Promise<Buffer | undefined> {
  try {
    const anew = await vault.reseal(tx, stored, place);
    counts.readable++;
    return anew;
  } catch (error) {
    if (!(error instanceof DomainError && error.code === "key_missing")) throw error;
    counts.unreadable++;
    return undefined;
  }
}
