import type { Connection, Transaction } from "./database/database.ts";
import { DomainError } from "./errors.ts";
import { revokeIncomingWebhook } from "./incoming-webhooks/incoming-webhooks.ts";
import {
  addressWorksUntil,
  isSigned,
  selectSealedWebhooks,
  selectWebhookByHash,
} from "./incoming-webhooks/store.ts";
import { hashOf, prefixOf, type SecretPrefix, shownPrefix } from "./secrets/secret-text.ts";
import type { Vault } from "./secrets/vault.ts";
import { selectSealedSubscriptions } from "./subscriptions/secret-store.ts";
import { listTeams } from "./teams/teams.ts";
import { timestamp } from "./timestamp.ts";
import { selectTokenByHash } from "./tokens/store.ts";
import { revokeToken } from "./tokens/tokens.ts";

/** A secret that was found somewhere, and what it opens. It is never shown in full. */
export type LeakedSecret = {
  /** Its first characters. */
  prefix: string;
  kind: "bot_token" | "personal_token" | "incoming_webhook" | "signing_secret";
  /**
   * `active`: it works. `inactive`: it was revoked, replaced or has expired, or its user is gone. `unknown`: it is well
   * formed, but not of this workspace.
   */
  status: "active" | "inactive" | "unknown";
  /** What it belongs to, as `noun:id`: a token, an incoming webhook or a webhook. */
  target: string | null;
  name: string | null;
  /** The team's slug. */
  team: string | null;
  /** The name of the user that it acts as. */
  user: string | null;
  /** What it opens, in words; for a token, its scopes. */
  opens: string | null;
  scopes: string[];
  /** To the minute; null also for kinds whose use is not recorded. */
  last_used_at: string | null;
  /** The command that ends it, if it is active and is not ended by revoking it. */
  remedy: string | null;
};

/** What revokes a token or an incoming webhook. */
type Revoking = (tx: Transaction, actor: string) => Promise<unknown>;

/** A secret that was found, and what revokes it, if it is active and can be revoked. */
export type Identified = { leaked: LeakedSecret; revoke: Revoking | undefined };

type Known = Omit<LeakedSecret, "prefix" | "kind" | "team"> & { teamId: string; revoke?: Revoking };

const kinds = {
  ply_bot_: "bot_token",
  ply_pat_: "personal_token",
  ply_in_: "incoming_webhook",
  whsec_: "signing_secret",
} as const satisfies Record<SecretPrefix, LeakedSecret["kind"]>;

/** The number of stored signing secrets that are read at once. */
const rowsPerRead = 200;

/**
 * What each of the secrets opens, in the same order. For signing secrets all stored ones are decrypted once; those that
 * cannot be are taken for others.
 */
export async function identifySecrets(
  db: Connection,
  vault: Vault,
  secrets: readonly string[],
): Promise<Identified[]> {
  const slugs = new Map((await listTeams(db)).map(({ id, slug }) => [id, slug]));
  const signing = secrets.filter((secret) => prefixOf(secret) === "whsec_");
  const signingSecrets =
    signing.length > 0 ? await findSigningSecrets(db, vault, new Set(signing)) : new Map<string, Known>();
  const identified: Identified[] = [];
  for (const secret of secrets) {
    const prefix = prefixOf(secret);
    const shown = { prefix: shownPrefix(secret, prefix), kind: kinds[prefix] };
    const known =
      signingSecrets.get(secret) ??
      (prefix === "ply_in_" ? await findAddress(db, secret) : await findToken(db, secret));
    if (!known) {
      identified.push({ leaked: { ...shown, ...unknown }, revoke: undefined });
      continue;
    }
    const { teamId, revoke, ...rest } = known;
    const leaked = { ...shown, ...rest, team: slugs.get(teamId) ?? null };
    identified.push({ leaked, revoke: rest.status === "active" ? revoke : undefined });
  }
  return identified;
}

const unknown = {
  status: "unknown",
  target: null,
  name: null,
  team: null,
  user: null,
  opens: null,
  scopes: [],
  last_used_at: null,
  remedy: null,
} satisfies Partial<LeakedSecret>;

/** Revokes a token or an incoming webhook, which stops working immediately; it may be revoked already. */
export async function revokeIdentified(tx: Transaction, revoke: Revoking, actor: string): Promise<void> {
  try {
    await revoke(tx, actor);
  } catch (error) {
    // Somebody else was quicker.
    if (!(error instanceof DomainError && error.code === "not_found")) throw error;
  }
}

async function findToken(db: Connection, secret: string): Promise<Known | undefined> {
  const found = await selectTokenByHash(db, hashOf(secret));
  if (!found) return undefined;
  const { token, user } = found;
  const isExpired = token.expiresAt !== null && token.expiresAt <= Date.now();
  const isActive = token.revokedAt === null && user.deactivatedAt === null && !isExpired;
  return {
    status: isActive ? "active" : "inactive",
    target: `token:${token.id}`,
    name: token.name,
    teamId: token.teamId,
    user: user.name,
    opens: token.scopes.replaceAll(" ", ", "),
    scopes: token.scopes.split(" "),
    last_used_at: timestamp(token.lastUsedAt),
    remedy: null,
    revoke: (tx, actor) => revokeToken(tx, token.teamId, token.id, actor),
  };
}

async function findAddress(db: Connection, secret: string): Promise<Known | undefined> {
  const found = await selectWebhookByHash(db, hashOf(secret));
  if (!found) return undefined;
  const { webhook, bot, channel } = found;
  const works = addressWorksUntil(webhook, hashOf(secret)) > Date.now();
  const isActive = works && webhook.revokedAt === null && bot.deactivatedAt === null;
  return {
    status: isActive ? "active" : "inactive",
    target: `incoming_webhook:${webhook.id}`,
    name: webhook.name,
    teamId: webhook.teamId,
    user: bot.name,
    opens: `posting into ${channel.name}${isSigned(webhook) ? ", with a signature" : ""}`,
    scopes: [],
    last_used_at: null,
    remedy: null,
    revoke: (tx, actor) => revokeIncomingWebhook(tx, webhook.teamId, webhook.id, actor),
  };
}

/** The stored signing secrets that are among the wanted ones. */
async function findSigningSecrets(
  db: Connection,
  vault: Vault,
  wanted: ReadonlySet<string>,
): Promise<Map<string, Known>> {
  const known = new Map<string, Known>();
  const note = (stored: Buffer | null, place: `${string}:${string}`, what: () => Known) => {
    if (stored === null || vault.whyUnreadable(stored, place) !== undefined) return;
    const secret = vault.open(stored, place);
    if (wanted.has(secret)) known.set(secret, what());
  };
  for await (const row of everyRow(db, selectSealedSubscriptions)) {
    const place = `subscriptions:${row.id}` as const;
    const { id, teamId, name, deletedAt, previousSecretUntil } = row;
    const isLive = deletedAt === null;
    const said = { target: `webhook:${id}`, name, teamId, ...opening("signing deliveries") };
    const remedy = `parley webhooks rotate-secret ${id}`;
    note(row.previousSecret, place, () =>
      withStatus(said, isLive && (previousSecretUntil ?? 0) > Date.now(), remedy),
    );
    note(row.secret, place, () => withStatus(said, isLive, remedy));
  }
  for await (const row of everyRow(db, selectSealedWebhooks)) {
    const { id, teamId, name, revokedAt, previousSecretUntil } = row;
    const isLive = revokedAt === null;
    const said = { target: `incoming_webhook:${id}`, name, teamId, ...opening("signing posts") };
    const remedy = `parley incoming-webhooks rotate-secret ${id}`;
    note(row.previousSecret, `incoming_webhooks:${id}`, () =>
      withStatus(said, isLive && (previousSecretUntil ?? 0) > Date.now(), remedy),
    );
    note(row.secret, `incoming_webhooks:${id}`, () => withStatus(said, isLive, remedy));
  }
  return known;
}

function opening(opens: string) {
  return { user: null, opens, scopes: [], last_used_at: null };
}

function withStatus(said: Omit<Known, "status" | "remedy">, isActive: boolean, remedy: string): Known {
  return { ...said, status: isActive ? "active" : "inactive", remedy: isActive ? remedy : null };
}

/** All rows, read a page at a time. */
async function* everyRow<Row extends { id: string }>(
  db: Connection,
  select: (db: Connection, afterId: string, limit: number) => Promise<Row[]>,
): AsyncGenerator<Row> {
  let after: string | undefined = "";
  while (after !== undefined) {
    const rows: Row[] = await select(db, after, rowsPerRead);
    yield* rows;
    after = rows.at(-1)?.id;
  }
}
