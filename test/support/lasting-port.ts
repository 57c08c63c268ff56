import { readFileSync } from "node:fs";

const lowest = 10_000;

/**
 * A free port of 127.0.0.1 for a server that a test stops and starts again: none that the system gives to whoever asks
 * for any port or connects to somewhere, so that nobody takes it meanwhile.
 */
export function lastingPort(): number {
  const range = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8");
  const below = Number(range.split(/\s+/)[0]);
  while (true) {
    const port = lowest + Math.floor(Math.random() * (below - lowest));
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
      return port;
    } catch {
      // Taken: another one is tried.
    }
  }
}
