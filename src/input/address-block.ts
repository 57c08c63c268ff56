import { isIP } from "node:net";

/** A block of IP addresses: those whose first `prefix` bits are the same as `network`'s. */
export type AddressBlock = { network: string; prefix: number; family: "ipv4" | "ipv6" };

/** An IPv4 address as an IPv6 socket shows it, in the form of a URL's host. */
const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/** The first bits of every mapped address, which an IPv4 prefix does not count. */
const mappedBits = 96;

/**
 * Returns the one form of an IP address that a log and a count use: an IPv4 address also where it is mapped into IPv6,
 * an IPv6 address as RFC 5952 writes it. Undefined for any other text, zone identifiers included.
 */
export function canonicalAddress(text: string): string | undefined {
  const version = isIP(text);
  if (version === 4) return text;
  const url = version === 6 ? URL.parse(`http://[${text}]/`) : null;
  if (!url) return undefined;
  const address = url.hostname.slice(1, -1);
  const [, high, low] = mapped.exec(address) ?? [];
  if (high === undefined || low === undefined) return address;
  const bits = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return bits.flatMap((pair) => [pair >> 8, pair & 0xff]).join(".");
}

/**
 * Reads addresses and blocks in CIDR notation, separated by commas. Returns undefined when one of them is neither, or
 * there is none.
 */
export function parseAddressBlocks(text: string): AddressBlock[] | undefined {
  const blocks = text.split(",").map((part) => parseAddressBlock(part.trim()));
  return blocks.every((block) => block !== undefined) ? blocks : undefined;
}

/** Reads one address or block; undefined when the text is neither. */
export function parseAddressBlock(text: string): AddressBlock | undefined {
  const [, address = "", bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const network = canonicalAddress(address);
  if (network === undefined) return undefined;
  const family = network.includes(":") ? "ipv6" : "ipv4";
  const most = family === "ipv6" ? 128 : 32;
  const isMapped = family === "ipv4" && address.includes(":");
  const prefix = bits === undefined ? most : Number(bits) - (isMapped ? mappedBits : 0);
  return prefix >= 0 && prefix <= most ? { network, prefix, family } : undefined;
}
