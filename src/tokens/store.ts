import { and, desc, eq, isNull } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { parameterOfJoin, prepared } from "../database/prepared.ts";
import { cached } from "../database/cached.ts";
import { tokens, users } from "../database/schema.ts";

export type TokenRow = typeof tokens.$inferSelect;

export async function insertToken(tx: Transaction, row: TokenRow): Promise<void> {
  await tx.insert(tokens).values(row);
}

const byHashStatement = prepared((db) =>
  db
    .select({
      id: tokens.id,
      scopes: tokens.scopes,
      expiresAt: tokens.expiresAt,
      userId: users.id,
      teamId: users.teamId,
      userName: users.name,
      userType: users.type,
      role: users.role,
    })
    .from(tokens)
    .innerJoin(users, eq(users.id, tokens.userId))
    .where(
      and(
        eq(tokens.hash, parameterOfJoin("hash", "text")),
        isNull(tokens.revokedAt),
        isNull(users.deactivatedAt),
      ),
    )
    .prepare(),
);

/** Returns the token, with its user, if it is not revoked and the user is active. The caller checks its expiry. */
export const selectUsableToken = cached((db, hash: string) => {
  const row = byHashStatement(db).get({ hash });
  return row && { ...row, scopes: new Set(row.scopes.split(" ")) as ReadonlySet<string> };
});

export async function selectTokens(db: Connection, teamId: string) {
  return await db
    .select({ token: tokens, userName: users.name, userType: users.type })
    .from(tokens)
    .innerJoin(users, eq(users.id, tokens.userId))
    .where(and(eq(tokens.teamId, teamId), isNull(tokens.revokedAt)))
    .orderBy(desc(tokens.createdAt), desc(tokens.id));
}

/** The token with this hash and its user, whatever has become of them. */
export async function selectTokenByHash(db: Connection, hash: string) {
  const [found] = await db
    .select({ token: tokens, user: users })
    .from(tokens)
    .innerJoin(users, eq(users.id, tokens.userId))
    .where(eq(tokens.hash, hash));
  return found;
}

/** Revokes one token of the team. Returns its new row, or undefined when the team has no such live token. */
export async function revokeTokenRow(
  tx: Transaction,
  teamId: string,
  id: string,
  at: number,
): Promise<TokenRow | undefined> {
  const [row] = await tx
    .update(tokens)
    .set({ revokedAt: at })
    .where(and(eq(tokens.id, id), eq(tokens.teamId, teamId), isNull(tokens.revokedAt)))
    .returning();
  return row;
}

/** Revokes all tokens of the user, or only those with the name. Returns their new rows. */
export async function revokeTokenRowsOfUser(
  tx: Transaction,
  userId: string,
  at: number,
): Promise<TokenRow[]> {
  return await tx
    .update(tokens)
    .set({ revokedAt: at })
    .where(and(eq(tokens.userId, userId), isNull(tokens.revokedAt)))
    .returning();
}
