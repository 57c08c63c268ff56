import type { Connection, Database } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import { theOnlyWithId } from "../input/reference.ts";
import type { Vault } from "../secrets/vault.ts";
import { newId, now } from "../system/repeatable.ts";
import { timestamp } from "../timestamp.ts";
import { findLiveWebhook } from "./ingest.ts";
import {
  deleteRefusedPostsBeyond,
  insertRefusedPost,
  type RefusalCode,
  refusalCodes,
  type RefusedPostRow,
  selectRefusedPosts,
} from "./refused-store.ts";

/**
 * How many refused posts of a webhook are kept. Those of senders that have not proven that they know its secret count
 * for themselves, so that they cannot push the others out.
 */
const keptMax = 50;
const unprovenMax = 10;

/** How much of a body is kept, in bytes. What is longer can be looked at, but not posted. */
const bodyBytesMax = 64 * 1024;
const unprovenBytesMax = 4 * 1024;

/** How much of the headers is kept, in characters. */
const headersLengthMax = 8 * 1024;

/** Headers that hold credentials, or that say nothing about the post. */
const unkeptHeaders =
  /auth|cookie|session|signature|token|secret|password|(?<!^idempotency-)key|^(host|connection|content-length|accept.*)$/i;

/** The start of a secret of ours: proxies add headers that hold the address of the request. */
const secretStart = /(?:ply(?:_|%5f)(?:bot|pat|in)|whsec)(?:_|%5f)/i;

/** A post as it arrived: `bytes` is undefined where it was not read. */
export type Arrived = {
  suffix: string;
  headers: Headers;
  bytes: Uint8Array | undefined;
  /** Whether its sender knew the secret, or need not know any. */
  isProven: boolean;
};

/** What is encrypted of a refused post. */
type Sealed = { reason: string; headers: Array<[string, string]>; body: string; size: number | null };

/** A refused post as lists show it. */
export type RefusedPost = {
  id: string;
  at: string;
  /** The end of the address that it came to, such as `/slack`; empty for the address itself. */
  address: string;
  code: RefusalCode;
  /** Why it was refused. */
  reason: string;
  /** The size of the body in bytes; null where it was too large to be read. */
  size: number | null;
  /** Whether all of it is kept, and its sender was not in doubt, so that it can be posted. */
  can_be_resent: boolean;
};

/** A refused post with what arrived. */
export type OpenedPost = {
  post: RefusedPost;
  suffix: string;
  /** Whether what its sender knew has been replaced since. */
  isSuperseded: boolean;
  headers: Record<string, string>;
  bytes: Buffer;
};

/** Whether a post that is refused with the error is kept. */
export function isRefusal(error: unknown): error is DomainError & { code: RefusalCode } {
  return error instanceof DomainError && refusalCodes.includes(error.code);
}

/**
 * Keeps a refused post, encrypted, among the latest of the webhook with this address. Nothing is kept for a webhook that
 * is revoked.
 * @throws DomainError `key_missing` when it cannot be encrypted.
 */
export async function keepRefusedPost(
  { database, vault }: { database: Database; vault: Vault },
  hash: string,
  { suffix, headers, bytes, isProven }: Arrived,
  { code, reason }: { code: RefusalCode; reason: string },
): Promise<void> {
  const sealed: Sealed = {
    reason,
    headers: keptHeaders(headers),
    body: Buffer.from(bytes?.subarray(0, isProven ? bodyBytesMax : unprovenBytesMax) ?? []).toString(
      "base64",
    ),
    size: bytes?.byteLength ?? null,
  };
  await database.write(async (tx) => {
    const live = findLiveWebhook(tx, hash);
    if (!live) return;
    const id = newId();
    const row: RefusedPostRow = {
      id,
      webhookId: live.webhook.id,
      suffix,
      isProven,
      code,
      at: now(),
      post: await vault.seal(tx, JSON.stringify(sealed), placeOf(id)),
      isSuperseded: false,
    };
    await insertRefusedPost(tx, row);
    await deleteRefusedPostsBeyond(tx, row, isProven ? keptMax : unprovenMax);
  });
}

/** Returns the webhook's refused posts, newest first. One that cannot be decrypted says so as its reason. */
export async function listRefusedPosts(
  db: Connection,
  vault: Vault,
  webhookId: string,
): Promise<RefusedPost[]> {
  return (await selectRefusedPosts(db, webhookId)).map((row) => {
    const why = vault.whyUnreadable(row.post, placeOf(row.id), kind);
    return resourceOf(
      row,
      why === undefined ? opened(vault, row) : { reason: why, headers: [], body: "", size: null },
    );
  });
}

/**
 * Returns the webhook's refused post of this id, or of this unique part of one, with what arrived.
 * @throws DomainError `not_found`; `conflict` when the part is not unique; `key_missing` when it cannot be decrypted.
 */
export async function getRefusedPost(
  db: Connection,
  vault: Vault,
  webhookId: string,
  id: string,
): Promise<OpenedPost> {
  const row = theOnlyWithId(await selectRefusedPosts(db, webhookId), "refused post", id);
  const sealed = opened(vault, row);
  return {
    post: resourceOf(row, sealed),
    suffix: row.suffix,
    isSuperseded: row.isSuperseded,
    headers: Object.fromEntries(sealed.headers),
    bytes: Buffer.from(sealed.body, "base64"),
  };
}

const kind = { name: "refused post", remedy: "it is lost" };

/** The row that a refused post is encrypted for. */
export function placeOf(id: string): `refused_posts:${string}` {
  return `refused_posts:${id}`;
}

function opened(vault: Vault, { id, post }: RefusedPostRow): Sealed {
  return JSON.parse(vault.open(post, placeOf(id), kind)) as Sealed;
}

function resourceOf(row: RefusedPostRow, { reason, body, size }: Sealed): RefusedPost {
  const keptBytes = Buffer.byteLength(body, "base64");
  return {
    id: row.id,
    at: timestamp(row.at),
    address: row.suffix === "" ? "" : `/${row.suffix}`,
    code: row.code,
    reason,
    size,
    can_be_resent: row.isProven && !row.isSuperseded && size === keptBytes,
  };
}

function keptHeaders(headers: Headers): Array<[string, string]> {
  const kept: Array<[string, string]> = [];
  let length = 0;
  for (const [name, value] of headers) {
    if (unkeptHeaders.test(name) || secretStart.test(value)) continue;
    const more = name.length + value.length;
    if (length + more > headersLengthMax) continue;
    length += more;
    kept.push([name, value]);
  }
  return kept;
}
