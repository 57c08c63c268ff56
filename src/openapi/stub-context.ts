import type { ApiContext } from "../api/api.ts";
import { authentication } from "../http/authentication.ts";

/** What routes are built from when they are only described: there is nothing behind them, and no database is opened. */
export function stubContext(): ApiContext {
  return {
    database: absent(),
    vault: absent(),
    guard: absent(),
    log: absent(),
    authentication: authentication(absent(), absent(), absent()),
    ingestRateLimit: absent(),
    wrongCredentials: absent(),
    maxSubscriptions: 0,
    baseUrl: () => "",
  };
}

/** Something that is never there to be used: no request reaches a route that is only described. */
function absent<Part extends object>(): Part {
  return new Proxy({} as Part, {
    get: (_, name) => {
      throw new Error(`A route that is only described asked for ${String(name)}.`);
    },
  });
}
