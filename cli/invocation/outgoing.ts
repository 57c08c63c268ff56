import type { Outgoing } from "../../src/deliveries/attempt.ts";
import { findKey } from "../../src/secrets/key.ts";
import { Vault } from "../../src/secrets/vault.ts";
import type { Invocation } from "./invocation.ts";

/** What signing and sending take, by the same settings as the server's. */
export function outgoing(invocation: Invocation): { vault: Vault; outgoing: Outgoing } {
  const { secretKey, webhooksBlockPrivateUrls, webhooksTimeout } = invocation.config();
  return {
    vault: new Vault(findKey(invocation.dataDir, secretKey)),
    outgoing: { guard: { blockPrivate: webhooksBlockPrivateUrls }, timeoutMs: webhooksTimeout * 1000 },
  };
}
