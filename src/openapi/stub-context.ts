import type { ApiContext } from "../api/api.ts";
import type { Readiness } from "../health/readiness.ts";
import { authentication } from "../http/authentication.ts";

/** Returns a context for routes that are only described: every part throws when used, and no database is opened. */
export function stubContext(): ApiContext & { readiness: Readiness } {
  return {
    database: absent(),
    vault: absent(),
    guard: absent(),
    log: absent(),
    authentication: authentication(absent(), absent(), absent()),
    feed: absent(),
    allowSilence: () => {},
    ingestRateLimit: absent(),
    wrongCredentials: absent(),
    readiness: absent(),
    maxSubscriptions: 0,
    baseUrl: () => "",
  };
}

/** A part that is never used, since no request reaches a route that is only described. */
function absent<Part extends object>(): Part {
  return new Proxy({} as Part, {
    get: (_, name) => {
      throw new Error(`A route that is only described used ${String(name)}.`);
    },
  });
}
