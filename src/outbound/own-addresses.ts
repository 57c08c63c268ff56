import { networkInterfaces } from "node:os";

/** How long what was read holds, in milliseconds. Asking the system takes ten times as long as the rest of the guard. */
const holdsMs = 1_000;

/**
 * Returns what tells the addresses of this machine. They are read once a second at most, so one that the machine gets
 * is known a second later at the latest. `read` and `now`, in milliseconds, are for tests to put in their place.
 */
export function ownAddressesOfLate(
  read: () => readonly string[] = interfaceAddresses,
  now: () => number = () => performance.now(),
): () => readonly string[] {
  let addresses: readonly string[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    const at = now();
    if (at - readAt >= holdsMs) {
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
