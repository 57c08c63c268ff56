import { getServers } from "node:dns";

/**
 * Starts what Bun itself would only start with the first delivery: the thread of its HTTP client with its certificates,
 * and the resolver of names. Both need descriptors, and Bun ends the process when it finds none for the first; so they
 * are there before a client can take any. Nothing goes over the network. Takes some ten milliseconds.
 */
export async function startLateStarters(): Promise<void> {
  // Reads the system's configuration.
  getServers();
  // Where no socket can be: the request has failed when the thread stands.
  await fetch("https://localhost/", { unix: "/dev/null/none" }).catch(() => {});
}
