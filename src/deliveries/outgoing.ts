import { getCACertificates } from "node:tls";
import type { Config } from "../config.ts";
import { AllowedNetworks } from "../outbound/allowed-networks.ts";
import type { Outgoing } from "./attempt.ts";

/** The settings that say where requests may go and for how long. */
type OutgoingSettings = Pick<
  Config,
  "webhooksBlockPrivateUrls" | "webhooksAllowAddresses" | "webhooksCaFile" | "webhooksTimeout"
>;

/** Returns what the settings say about outgoing requests, the same for a server and for commands. */
export function outgoingOf(config: OutgoingSettings): Outgoing {
  const { webhooksBlockPrivateUrls: blockPrivate, webhooksAllowAddresses: allowed } = config;
  const allow = new AllowedNetworks(allowed);
  return {
    guard: { blockPrivate, allow },
    timeoutMs: config.webhooksTimeout * 1000,
    ca: authorities(config.webhooksCaFile),
  };
}

/** The usual authorities and these; undefined without any, because Bun then takes the usual ones by itself. */
function authorities(own: readonly string[]): string | undefined {
  return own.length === 0 ? undefined : [...getCACertificates("default"), ...own].join("\n");
}
