/** What copies were made of: a copy of a request knows no connection. */
const originals = new WeakMap<Request, Request>();

/** Notes what the copy was made of. */
export function noteOriginal(copy: Request, original: Request): void {
  originals.set(copy, original);
}

/** The request as it came in. */
export function originalOf(request: Request): Request {
  return originals.get(request) ?? request;
}

/**
 * Whom an address belongs to, as far as one can tell: an IPv4 address stands for itself, mapped into IPv6 or not; of an
 * IPv6 address only the first 64 bits count, for a single host has all that follow them (RFC 4291, 2.5.4). Takes the text
 * that the system writes (RFC 5952).
 */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const [before = [], after = []] = address.split("::").map((part) => part.split(":").filter(Boolean));
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => "0");
  return `${[...before, ...zeros, ...after].slice(0, 4).join(":")}::/64`;
}
