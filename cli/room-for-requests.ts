import { type Environment, requestsAllowed } from "../src/config.ts";

/** The commands that deliver a queue. */
const servers = ["serve", "quickstart"];

/** More than the deliveries that are under way at once (`requestsMax` in src/deliveries/places.ts). */
const requests = 2_048;

/**
 * Lets a server have as many requests under way as it has places for. Bun reads how many it allows, 256 otherwise, from
 * the environment that a process starts with, and nowhere else: so the program takes its own place with that set. It
 * stays the same process, and takes 5 ms for it. Where the system does not let it, it goes on with fewer.
 */
export function makeRoomForRequests(argv: readonly string[], environment: Environment): void {
  if (!argv.some((word) => servers.includes(word)) || requestsAllowed(environment) >= requests) return;
  // Compiled, the program is the executable itself; from its sources it is what Bun was told to run.
  const script = Bun.main.startsWith("/$bunfs/") ? [] : [Bun.main];
  try {
    process.execve?.(process.execPath, [process.execPath, ...script, ...argv], {
      ...environment,
      BUN_CONFIG_MAX_HTTP_REQUESTS: `${requests}`,
    });
  } catch {
    // As it is told to be: `requestsAllowed` says how many there are places for.
  }
}
