import type { Config } from "../config.ts";
import { AllowedNetworks } from "../outbound/allowed-networks.ts";
import type { Outgoing } from "./attempt.ts";

/** The settings that say where requests may go and for how long. */
type OutgoingSettings = Pick<
  Config,
  "webhooksBlockPrivateUrls" | "webhooksAllowAddresses" | "webhooksTimeout"
>;

/** Returns what the settings say about outgoing requests, the same for a server and for commands. */
export function outgoingOf(config: OutgoingSettings): Outgoing {
  const { webhooksBlockPrivateUrls: blockPrivate, webhooksAllowAddresses: allowed } = config;
  const allow = new AllowedNetworks(allowed);
  return { guard: { blockPrivate, allow }, timeoutMs: config.webhooksTimeout * 1000 };
}
