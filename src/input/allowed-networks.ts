import { type AddressBlock, parseAddressBlock } from "./address-block.ts";

/** The widest IPv4 network that can be allowed; no network that is not public and has hosts is wider. */
const widestIPv4 = 8;

/** Where hosts have IPv6 addresses of their own: loopback, unique local, and global unicast. */
const usableIPv6 = ["::1/128", "fc00::/7", "2000::/3"].map(known);

/** Teredo and 6to4: their addresses embed IPv4 addresses, which may be any. */
const embedding = ["2001::/32", "2002::/16"].map(known);

/**
 * Reads the networks and addresses that deliveries may reach although they are not public, separated by commas; or what
 * is wrong with the first that cannot be allowed, as the end of a sentence. An IPv4 network stands for plain IPv4
 * addresses alone: no form of IPv6 that embeds an IPv4 address can be allowed, because what such an address reaches
 * depends on the network, and guards that decode them tend to miss a form.
 */
export function parseAllowedNetworks(text: string): AddressBlock[] | { problem: string } {
  const networks: AddressBlock[] = [];
  for (const part of text.split(",").map((item) => item.trim())) {
    const block = parseAddressBlock(part);
    const problem = block ? whyNotAllowed(block, part) : "is neither an address nor a network";
    if (problem !== undefined) return { problem: `has ${JSON.stringify(part)}, which ${problem}` };
    if (block) networks.push(block);
  }
  return networks;
}

function whyNotAllowed(block: AddressBlock, text: string): string | undefined {
  const { prefix, family } = block;
  if (bitsOf(block).includes("1", prefix)) return `has bits set after the first ${prefix}`;
  if (family === "ipv4") {
    if (text.includes(":")) return "embeds an IPv4 address: name that by itself";
    return prefix < widestIPv4 ? `is wider than /${widestIPv4}` : undefined;
  }
  if (!usableIPv6.some((usable) => contains(usable, block)))
    return "is not within fc00::/7 or 2000::/3, and not ::1";
  const overlapping = embedding.find((other) => contains(block, other) || contains(other, block));
  return (
    overlapping && `overlaps with ${overlapping.network}/${overlapping.prefix}, which embeds IPv4 addresses`
  );
}

function contains(outer: AddressBlock, inner: AddressBlock): boolean {
  return outer.prefix <= inner.prefix && bitsOf(inner).startsWith(bitsOf(outer).slice(0, outer.prefix));
}

/** The bits of the block's network, as a text of ones and zeros. */
function bitsOf({ network, family }: AddressBlock): string {
  if (family === "ipv4")
    return network
      .split(".")
      .map((byte) => binary(Number(byte), 8))
      .join("");
  const [head = [], tail = []] = network.split("::").map((half) => half.split(":").filter(Boolean));
  const zeros = Array<string>(8 - head.length - tail.length).fill("0");
  const groups = [...head, ...zeros, ...tail];
  return groups.map((group) => binary(Number.parseInt(group, 16), 16)).join("");
}

function binary(value: number, digits: number): string {
  return value.toString(2).padStart(digits, "0");
}

function known(text: string): AddressBlock {
  const [network = "", prefix] = text.split("/");
  return { network, prefix: Number(prefix), family: "ipv6" };
}
