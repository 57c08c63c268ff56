import { Elysia } from "elysia";
import type { Database } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import type { Subject } from "../subject.ts";
import type { Scope } from "../tokens/scopes.ts";
import { authenticate } from "../tokens/tokens.ts";
import { jsonOf, readBytes, unreadEncoding } from "./json-body.ts";
import { type RateLimit, enforceRateLimit } from "./rate-limit.ts";
import type { WrongCredentials } from "./wrong-credentials.ts";

// The scheme's name is case-insensitive (RFC 9110, 11.1). Two headers arrive joined by a comma and do not match.
const bearer = /^bearer +([^\s,]+)$/i;

/** A body that takes longer than this to arrive, in milliseconds, has its token looked at again. */
const bodyPatienceMs = 100;

/** What gives routes the option `scope`. */
export type Authentication = ReturnType<typeof authentication>;

type Authenticated = {
  subject: Subject;
  /**
   * Reads the request's body as JSON; see `readBytes` and `jsonOf`.
   * @throws DomainError `unauthenticated` when the token has ended while the body was on its way.
   */
  readInput: () => Promise<unknown>;
};

/**
 * Adds the route option `scope`. A route that names its scope gets `subject` and `readInput`, and answers a request without a valid
 * token 401 (429 where its address has sent too many such), one too many 429 and a token without the scope 403, in this
 * order and before anything else.
 */
export function authentication(database: Database, rateLimit: RateLimit, wrongCredentials: WrongCredentials) {
  return new Elysia({ name: "authentication" }).macro({
    scope: (scope: Scope) => ({
      detail: { security: [{ bearer: [scope] }], "x-required-scope": scope },
      resolve: ({ request, set }): Authenticated => {
        const token = bearerToken(request) ?? "";
        const grant = authenticate(database, token);
        if (!grant) throw wrongCredentials.refusal(request, unauthenticated());
        const { subject } = grant;

        enforceRateLimit(rateLimit, grant.tokenId, "This token", set.headers as Record<string, string>);
        if (!grant.scopes.has(scope)) {
          throw new DomainError("forbidden", `The token lacks the scope ${scope}.`);
        }
        const readInput = () => {
          const unread = unreadEncoding(request.headers);
          if (unread) return Promise.resolve(unread);
          const startedAt = performance.now();
          return readBytes(request).then((bytes) => {
            // A body that is long in coming must not outlive its token: what was revoked meanwhile is refused, and
            // counts as no wrong one, for it was right when it was sent.
            if (performance.now() - startedAt > bodyPatienceMs) {
              const grantNow = authenticate(database, token);
              if (!grantNow) throw unauthenticated();
              Object.assign(subject, grantNow.subject);
            }
            return jsonOf(request.headers, bytes);
          });
        };
        return { subject, readInput };
      },
    }),
  });
}

/** The token in the request's `Authorization` header, whatever it may be worth. */
export function bearerToken(request: Request): string | undefined {
  return bearer.exec(request.headers.get("authorization") ?? "")?.[1];
}

/** The refusal of a request without a valid token: one for every reason, so that it tells nothing about a token. */
export function unauthenticated(): DomainError {
  return new DomainError("unauthenticated", "Send a valid token as Authorization: Bearer <ACCESS_TOKEN>.", {
    headers: { "www-authenticate": 'Bearer realm="parley"' },
  });
}
