import type { Outgoing } from "../../src/deliveries/attempt.ts";
import { outgoingOf } from "../../src/deliveries/outgoing.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import type { Invocation } from "./invocation.ts";

/**
 * The vault and the sender for a command, with the same settings as the server's.
 * @throws DomainError `invalid` for a setting that does not parse.
 */
export function outgoing(invocation: Invocation): { vault: Vault; outgoing: Outgoing } {
  const config = invocation.config();
  return { vault: new Vault(findKey(invocation.dataDir, config.secretKey)), outgoing: outgoingOf(config) };
}
