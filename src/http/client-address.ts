/** The original of each copied request: Bun knows the connection of the original only. */
const originals = new WeakMap<Request, Request>();

/** Records the request that the copy was made from. */
export function noteOriginal(copy: Request, original: Request): void {
  originals.set(copy, original);
}

/** Returns the request as Bun received it. */
export function originalOf(request: Request): Request {
  return originals.get(request) ?? request;
}

/**
 * Returns the key by which an address is counted: an IPv4 address itself, mapped into IPv6 or not; of an IPv6 address
 * the first 64 bits, since a single host has all addresses that share them (RFC 4291, section 2.5.4). Takes the form
 * that the operating system writes (RFC 5952).
 */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const [before = [], after = []] = address.split("::").map((part) => part.split(":").filter(Boolean));
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => "0");
  return `${[...before, ...zeros, ...after].slice(0, 4).join(":")}::/64`;
}
