import { Elysia } from "elysia";
import { type Answer, whenAnswered } from "../database/answer.ts";
import type { Database } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import type { Subject } from "../subject.ts";
import type { Scope } from "../tokens/scopes.ts";
import { authenticate } from "../tokens/tokens.ts";
import { noteCaller } from "./caller.ts";
import { jsonOf, readBytes, unreadEncoding } from "./json-body.ts";
import { enforceRateLimit, type RateCounter, type RateLimitStatus } from "./rate-limit.ts";
import type { WrongCredentials } from "./wrong-credentials.ts";

// The scheme's name is case-insensitive (RFC 9110, 11.1). Two headers arrive joined by a comma and do not match.
const bearer = /^bearer +([^\s,]+)$/i;

/** A body that takes longer than this to arrive, in milliseconds, has its token checked again. */
const bodyPatienceMs = 100;

/** Gives routes the option `scope`. */
export type Authentication = ReturnType<typeof authentication>;

type Authenticated = {
  subject: Subject;
  tokenId: string;
  /**
   * Reads the request's body as JSON (see `readBytes` and `jsonOf`). Use the subject that comes with it: a role may
   * have changed while the body was arriving.
   * @throws DomainError `unauthenticated` when the token was revoked or expired meanwhile; those of `readBytes`.
   */
  readInput: () => Promise<{ subject: Subject; input: unknown }>;
  /**
   * Checks the token of a request again that has taken long.
   * @throws DomainError `unauthenticated` when it was revoked or has expired meanwhile.
   */
  requireStillValid: () => Answer<Subject>;
};

/**
 * Adds the route option `scope`. A route that names its scope gets `subject` and `readInput`. Before anything else it
 * responds 401 without a valid token (429 when the client's address has sent too many wrong ones), 429 over the token's
 * rate limit and 403 without the scope, in this order (specification part 5).
 */
export function authentication(
  database: Database,
  rateLimit: RateCounter,
  wrongCredentials: WrongCredentials,
) {
  function readInput(
    request: Request,
    token: string,
    subject: Subject,
  ): ReturnType<Authenticated["readInput"]> {
    const unread = unreadEncoding(request.headers);
    if (unread) return Promise.resolve({ subject, input: unread });
    const startedAt = performance.now();
    return readBytes(request).then((bytes) => {
      const input = jsonOf(request.headers, bytes);
      if (performance.now() - startedAt <= bodyPatienceMs) return { subject, input };
      return whenAnswered(subjectNow(database, token), (now) => ({ subject: now, input }));
    });
  }

  return new Elysia({ name: "authentication" }).macro({
    scope: (scope: Scope) => ({
      detail: { security: [{ bearer: [scope] }], "x-required-scope": scope },
      // Not an async function: on SQLite the grant is there at once, and every request passes here. Elysia awaits it if it
      // reads `return f(…)`.
      resolve: ({ request, set }): Answer<Authenticated> => {
        const token = bearerToken(request) ?? "";
        // Where the database is far, the request is counted while it is asked what has become of the token.
        let counted: Answer<RateLimitStatus> | undefined;
        const onPresumed = database.file
          ? undefined
          : (tokenId: string) => {
              counted = rateLimit.take(tokenId);
              if (counted instanceof Promise) counted.catch(() => {});
            };
        return whenAnswered(authenticate(database, token, undefined, onPresumed), (grant) => {
          if (!grant) throw wrongCredentials.errorOf(request, unauthenticated());
          const { subject } = grant;
          noteCaller(request, { token_id: grant.tokenId, user_id: subject.id });

          const headers = set.headers as Record<string, string>;
          return whenAnswered(
            enforceRateLimit(counted ?? rateLimit.take(grant.tokenId), "This token", headers),
            () => {
              if (!grant.scopes.has(scope)) {
                throw new DomainError("forbidden", `The token lacks the scope ${scope}.`);
              }
              return {
                subject,
                tokenId: grant.tokenId,
                readInput: () => readInput(request, token, subject),
                requireStillValid: () => subjectNow(database, token),
              };
            },
          );
        });
      },
    }),
  });
}

/**
 * Checks the token again after a slow body or a wait, which must not outlive it. Returns the subject with its present role.
 * @throws DomainError `unauthenticated`; not counted as wrong credentials, for the token was valid when it was sent.
 */
function subjectNow(database: Database, token: string): Answer<Subject> {
  return whenAnswered(authenticate(database, token), (grant) => {
    if (!grant) throw unauthenticated();
    return grant.subject;
  });
}

/** Returns the token in the request's `Authorization` header, valid or not. */
export function bearerToken(request: Request): string | undefined {
  return bearer.exec(request.headers.get("authorization") ?? "")?.[1];
}

/** The error for a request without a valid token: the same for every reason, so that it reveals nothing about one. */
export function unauthenticated(): DomainError {
  return new DomainError("unauthenticated", "Send a valid token as Authorization: Bearer <ACCESS_TOKEN>.", {
    headers: { "www-authenticate": 'Bearer realm="parley"' },
  });
}
