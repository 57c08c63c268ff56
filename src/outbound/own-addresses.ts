import { networkInterfaces } from "node:os";

/**
 * How long the addresses are cached, in milliseconds. Reading them takes ten times as long as the rest of the guard.
 */
const cachedForMs = 1_000;

/**
 * Returns a function that returns this machine's addresses. It reads them at most once a second, so a new address is
 * known within a second. Tests replace `read` and `now`, which is in milliseconds.
 */
export function cachedOwnAddresses(
  read: () => readonly string[] = interfaceAddresses,
  now: () => number = () => performance.now(),
): () => readonly string[] {
  let addresses: readonly string[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    const at = now();
    if (at - readAt >= cachedForMs) {
      addresses = read();
      readAt = at;
    }
    return addresses;
  };
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.map(({ address }) => address),
  );
}
