import { getServers } from "node:dns";

/**
 * Starts the parts of Bun that it would otherwise start with the first delivery: the thread of its HTTP client, which
 * loads the certificates, and the DNS resolver. Both need descriptors, and Bun ends the process if there is none for
 * the first one, so they start before clients can take any. Nothing goes over the network. Takes about ten
 * milliseconds.
 */
export async function startLazyParts(): Promise<void> {
  // Reads the system's resolver configuration.
  getServers();
  // There can be no socket at this path. By the time the request fails, the thread has started.
  await fetch("https://localhost/", { unix: "/dev/null/none" }).catch(() => {});
}
