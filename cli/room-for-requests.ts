import { type Environment, requestsAllowed } from "../src/config.ts";

/** The commands that deliver webhooks. */
const servers = ["serve", "quickstart"];

/** Must exceed the maximum number of deliveries in flight (`requestsMax` in src/deliveries/places.ts). */
const requests = 2_048;

/**
 * Raises Bun's limit on concurrent requests, 256 by default, to what the server needs. Bun reads the limit only from
 * the environment that the process starts with, so the program re-executes itself with the variable set: the same
 * process, 5 ms later. If the system forbids that, the server runs with the lower limit.
 */
export function makeRoomForRequests(argv: readonly string[], environment: Environment): void {
  if (!argv.some((word) => servers.includes(word)) || requestsAllowed(environment) >= requests) return;
  // A compiled program is the executable itself; an uncompiled one is the script that Bun was told to run.
  const script = Bun.main.startsWith("/$bunfs/") ? [] : [Bun.main];
  try {
    process.execve?.(process.execPath, [process.execPath, ...script, ...argv], {
      ...environment,
      BUN_CONFIG_MAX_HTTP_REQUESTS: `${requests}`,
    });
  } catch {
    // Deliveries adapt: `requestsAllowed` reports the limit in force.
  }
}
