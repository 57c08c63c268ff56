import { record } from "../audit/audit.ts";
import { type Answer, whenAnswered } from "../database/answer.ts";
import type { Database, Connection, Transaction } from "../database/database.ts";
import { forbidden, invalid, notFound } from "../errors.ts";
import { checkName } from "../input/name.ts";
import type { Subject } from "../subject.ts";
import { timestamp } from "../timestamp.ts";
import type { UserRow } from "../users/store.ts";
import { isScope, type Scope } from "./scopes.ts";
import { hashOf, isSecretText, newSecret, shownPrefix } from "../secrets/secret-text.ts";
import {
  insertToken,
  revokeTokenRow,
  revokeTokenRowsOfUser,
  selectTokens,
  selectUsableToken,
  type TokenRow,
} from "./store.ts";
import { newId, now } from "../system/repeatable.ts";

/** A token as lists show it, without the secret. */
export type Token = {
  id: string;
  name: string;
  kind: "bot" | "pat";
  user: { id: string; name: string; type: "human" | "bot" };
  scopes: Scope[];
  /** The first characters of the secret. */
  prefix: string;
  expires_at: string | null;
  last_used_at: string | null;
  created_at: string;
};

/** The rights of a valid token. */
export type Grant = { tokenId: string; subject: Subject; scopes: ReadonlySet<string> };

const minuteMs = 60_000;

// The tokens whose use in this minute is on disk or in flight, so that each token is written once a minute.
let recorded = { minute: 0, tokenIds: new Set<string>() };

/**
 * Creates a token that acts as the user. Returns it with its secret, which is stored nowhere and shown once.
 * `expiresAt` is milliseconds since 1970, null for never.
 * @throws DomainError `invalid` on `name`, on `scopes` that are empty or unknown, or on `expires` in the past;
 *   `forbidden` for a deactivated user, for whom it would work again after a reactivation.
 */
export async function createToken(
  tx: Transaction,
  user: UserRow,
  input: { name: string; scopes: readonly string[]; expiresAt: number | null },
  actor: string,
): Promise<Token & { token: string }> {
  if (user.deactivatedAt !== null) throw forbidden(`${user.name} is deactivated.`);
  const name = checkName(input.name);
  const granted = [...new Set(input.scopes)];
  const unknown = granted.find((scope) => !isScope(scope));
  if (granted.length === 0) throw invalid({ scopes: ["A token needs at least one scope."] });
  if (unknown !== undefined) throw invalid({ scopes: [`There is no scope ${unknown}.`] });
  const createdAt = now();
  if (input.expiresAt !== null && input.expiresAt <= createdAt)
    throw invalid({ expires: ["The expiry is in the past."] });

  const prefix = user.type === "bot" ? "ply_bot_" : "ply_pat_";
  const secret = newSecret(prefix);
  const row: TokenRow = {
    id: newId(),
    teamId: user.teamId,
    userId: user.id,
    name,
    prefix: shownPrefix(secret, prefix),
    hash: hashOf(secret),
    scopes: granted.join(" "),
    expiresAt: input.expiresAt,
    lastUsedAt: null,
    revokedAt: null,
    createdAt,
  };
  await insertToken(tx, row);
  await record(tx, {
    teamId: user.teamId,
    actor,
    action: "token.created",
    target: `token:${row.id}`,
    details: { name: row.name, user: user.name, scopes: granted },
  });
  return { ...tokenResource(row, user), token: secret };
}

/** Returns the team's live tokens, newest first. */
export async function listTokens(db: Connection, teamId: string): Promise<Token[]> {
  const rows = await selectTokens(db, teamId);
  return rows.map(({ token, userName, userType }) =>
    tokenResource(token, { id: token.userId, name: userName, type: userType }),
  );
}

/**
 * Revokes a token, which stops working immediately. Returns its id.
 * @throws DomainError `not_found` when the team has no such live token.
 */
export async function revokeToken(
  tx: Transaction,
  teamId: string,
  id: string,
  actor: string,
): Promise<{ id: string }> {
  const row = await revokeTokenRow(tx, teamId, id.toLowerCase(), now());
  if (!row) throw notFound("token");
  await recordRevoked(tx, row, actor);
  return { id: row.id };
}

/** Revokes all tokens of the user; they stop working immediately. */
export async function revokeTokensOfUser(tx: Transaction, userId: string, actor: string): Promise<void> {
  for (const row of await revokeTokenRowsOfUser(tx, userId, now())) await recordRevoked(tx, row, actor);
}

/**
 * Returns the rights of the token, or undefined when it is malformed, unknown, revoked or expired, or its user is
 * deactivated. The look-up is by hash, so no comparison depends on the token's characters. The last use is recorded to
 * the minute (`at` is milliseconds since 1970); the request does not wait for that write. `onPresumed` may be called with
 * the token's id before it is known whether the token still is valid.
 */
export function authenticate(
  database: Database,
  token: string,
  at = now(),
  onPresumed?: (tokenId: string) => void,
): Answer<Grant | undefined> {
  if (!isSecretText(token)) return undefined;
  const hash = hashOf(token);
  return whenAnswered(
    database.ask((db) => selectUsableToken(db, hash), onPresumed && ((row) => row && onPresumed(row.id))),
    (row) => {
      if (!row || (row.expiresAt !== null && row.expiresAt <= at)) return undefined;
      recordUse(database, row.id, at);
      return grantOf(row);
    },
  );
}

function grantOf(row: NonNullable<ReturnType<typeof selectUsableToken>>): Grant {
  return {
    tokenId: row.id,
    subject: { id: row.userId, teamId: row.teamId, name: row.userName, type: row.userType, role: row.role },
    scopes: row.scopes,
  };
}

function recordUse(database: Database, tokenId: string, at: number): void {
  const minute = at - (at % minuteMs);
  if (recorded.minute !== minute) recorded = { minute, tokenIds: new Set() };
  if (recorded.tokenIds.has(tokenId)) return;
  recorded.tokenIds.add(tokenId);
  // A failed write is no reason to refuse the request; the next one retries.
  const putDown = ({ commit }: Transaction) => void commit.appended.tokenUses.push({ tokenId, at: minute });
  database.write(putDown).catch(() => recorded.tokenIds.delete(tokenId));
}

async function recordRevoked(tx: Transaction, row: TokenRow, actor: string): Promise<void> {
  await record(tx, {
    teamId: row.teamId,
    actor,
    action: "token.revoked",
    target: `token:${row.id}`,
    details: { name: row.name },
  });
}

function tokenResource(row: TokenRow, user: Token["user"]): Token {
  return {
    id: row.id,
    name: row.name,
    kind: user.type === "bot" ? "bot" : "pat",
    user: { id: user.id, name: user.name, type: user.type },
    scopes: row.scopes.split(" ").filter(isScope),
    prefix: row.prefix,
    expires_at: timestamp(row.expiresAt),
    last_used_at: timestamp(row.lastUsedAt),
    created_at: timestamp(row.createdAt),
  };
}
