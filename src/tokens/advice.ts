import { listAuditEntries } from "../audit/audit.ts";
import type { Connection } from "../database/database.ts";
import { actorOf } from "../subject.ts";
import type { Scope } from "./scopes.ts";
import { listTokens, type Token } from "./tokens.ts";

/** What might be done about a token. */
export type Advice = {
  token: Token;
  /** `expired`: it does not work any more. `unused`: not for 90 days. `scopes`: some were perhaps never used. */
  kind: "expired" | "unused" | "scopes";
  /** The scopes of which the audit log has no trace; only of `scopes`. */
  scopes: Scope[];
};

const dayMs = 86_400_000;

/** A token that was not used for so long, in milliseconds, is probably forgotten. */
const unusedMs = 90 * dayMs;

/** How many entries of each action are read of the audit log. */
const entriesMax = 10_000;

/**
 * What the audit log records of each scope. Reading, posting and reacting leave no trace that names the user, since a
 * record of each would cost every request.
 */
const traces: Partial<Record<Scope, readonly string[]>> = {
  "channels:write": ["channel.created", "channel.archived"],
  "members:write": ["channel.member_added", "channel.member_removed"],
  "webhooks:write": ["webhook.created", "webhook.edited", "webhook.deleted"],
};

/**
 * Returns what might be done about the team's tokens at the time `now`, newest token first. A scope counts as used when
 * the audit log has something that its user did with it since the token was created, by whichever token.
 */
export async function adviceOn(db: Connection, teamId: string, now: number): Promise<Advice[]> {
  const tokens = await listTokens(db, teamId);
  const used = await usedSince(db, teamId);
  return tokens.flatMap((token): Advice[] => {
    const { expires_at, last_used_at, created_at } = token;
    if (expires_at !== null && Date.parse(expires_at) <= now) return [{ token, kind: "expired", scopes: [] }];
    if (Date.parse(last_used_at ?? created_at) < now - unusedMs)
      return [{ token, kind: "unused", scopes: [] }];
    if (last_used_at === null) return [];
    const scopes = token.scopes.filter((scope) => used(scope, token) === false);
    return scopes.length === 0 ? [] : [{ token, kind: "scopes", scopes }];
  });
}

/** Returns whether the token's user has used the scope since its creation; undefined when that cannot be told. */
async function usedSince(db: Connection, teamId: string) {
  const found = new Map<string, Array<{ actor: string; at: string }>>();
  for (const action of Object.values(traces).flat())
    found.set(action, await listAuditEntries(db, teamId, { action, limit: entriesMax }));
  return (scope: Scope, { user, created_at }: Token): boolean | undefined => {
    const actions = traces[scope];
    if (!actions) return undefined;
    const actor = actorOf(user);
    const logs = actions.map((action) => found.get(action) ?? []);
    if (logs.some((log) => log.some((entry) => entry.actor === actor && entry.at >= created_at))) return true;
    const isCut = logs.some((log) => log.length === entriesMax && (log.at(-1)?.at ?? "") > created_at);
    return isCut ? undefined : false;
  };
}
