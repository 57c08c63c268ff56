import { BlockList } from "node:net";

/** A block of addresses to which nothing may be delivered. */
export type SpecialBlock = {
  /** In CIDR notation, or a description of several blocks. */
  block: string;
  name: string;
  /** The document that reserves the block. */
  source: string;
};

type Family = "ipv4" | "ipv6";

// The IANA special-purpose registries of IPv4 and IPv6 (RFC 6890, RFC 8190), plus multicast, two deprecated forms that
// still embed IPv4 addresses, and one address with a meaning inside a large cloud only. The first row that contains an
// address names it, so a narrow block precedes the wider one around it.
const rows: readonly [block: string, name: string, source: string][] = [
  ["0.0.0.0/8", "this network", "RFC 791"],
  ["10.0.0.0/8", "private use", "RFC 1918"],
  ["100.64.0.0/10", "shared address space of carriers", "RFC 6598"],
  ["127.0.0.0/8", "loopback", "RFC 1122"],
  ["168.63.129.16/32", "platform services of Azure", "Azure documentation"],
  ["169.254.0.0/16", "link local, metadata of most clouds", "RFC 3927"],
  ["172.16.0.0/12", "private use", "RFC 1918"],
  ["192.0.0.0/24", "protocol assignments", "RFC 6890"],
  ["192.0.2.0/24", "documentation", "RFC 5737"],
  // The registry calls this and the other AS112 and AMT blocks globally reachable, but no webhook receiver is there.
  ["192.31.196.0/24", "AS112", "RFC 7535"],
  ["192.52.193.0/24", "AMT", "RFC 7450"],
  ["192.88.99.0/24", "6to4 relays, deprecated", "RFC 7526"],
  ["192.168.0.0/16", "private use", "RFC 1918"],
  ["192.175.48.0/24", "AS112", "RFC 7534"],
  ["198.18.0.0/15", "benchmarking", "RFC 2544"],
  ["198.51.100.0/24", "documentation", "RFC 5737"],
  ["203.0.113.0/24", "documentation", "RFC 5737"],
  ["224.0.0.0/4", "multicast", "RFC 5771"],
  ["240.0.0.0/4", "reserved, limited broadcast", "RFC 1112, RFC 8190"],

  ["::/128", "unspecified", "RFC 4291"],
  ["::1/128", "loopback", "RFC 4291"],
  ["::/96", "IPv4-compatible, deprecated", "RFC 4291"],
  // Blocks that embed IPv4 addresses are refused entirely: guards that decode them tend to miss some notation.
  ["::ffff:0:0/96", "IPv4-mapped", "RFC 4291"],
  ["::ffff:0:0:0/96", "IPv4-translated", "RFC 2765"],
  ["64:ff9b::/96", "NAT64", "RFC 6052"],
  ["64:ff9b:1::/48", "NAT64 of a network's own", "RFC 8215"],
  ["100::/64", "discard only", "RFC 6666"],
  ["100:0:0:1::/64", "dummy prefix", "RFC 9780"],
  ["2001::/32", "Teredo", "RFC 4380"],
  ["2001::/23", "protocol assignments", "RFC 2928"],
  ["2001:db8::/32", "documentation", "RFC 3849"],
  ["2002::/16", "6to4", "RFC 3056"],
  ["2620:4f:8000::/48", "AS112", "RFC 7534"],
  ["3fff::/20", "documentation", "RFC 9637"],
  ["5f00::/16", "segment routing identifiers", "RFC 9602"],
  ["fc00::/7", "unique local", "RFC 4193"],
  ["fe80::/10", "link local", "RFC 4291"],
  ["fec0::/10", "site local, deprecated", "RFC 3879"],
  ["ff00::/8", "multicast", "RFC 4291"],
];

const special = rows.map(([block, name, source]) => {
  return { block, name, source, family: familyOf(block), addresses: addressesOf([block]) };
});

const allSpecial = { ipv4: allOf("ipv4"), ipv6: allOf("ipv6") };

// IANA has allocated only this eighth of IPv6, so everything outside it is refused, listed above or not.
const globalUnicast = addressesOf(["2000::/3"]);
const unassigned: SpecialBlock = {
  block: "::/0 without 2000::/3",
  name: "not global unicast",
  source: "RFC 4291",
};

/** Returns the block that makes the address non-public; undefined when it is public. Takes canonical text only. */
export function specialBlockOf(address: string): SpecialBlock | undefined {
  const family = familyOf(address);
  // Nearly every address is public, and checking all blocks at once takes as long as checking one.
  if (allSpecial[family].check(address, family))
    return special.find((row) => row.family === family && row.addresses.check(address, family));
  return family === "ipv4" || globalUnicast.check(address, family) ? undefined : unassigned;
}

// One list per family: a BlockList equates an IPv4 address with its mapped form, so ::ffff:0:0/96 would match all of
// IPv4.
function allOf(family: Family): BlockList {
  return addressesOf(special.filter((row) => row.family === family).map(({ block }) => block));
}

function addressesOf(blocks: string[]): BlockList {
  const addresses = new BlockList();
  for (const block of blocks) {
    const [network = "", prefix = ""] = block.split("/");
    addresses.addSubnet(network, Number(prefix), familyOf(network));
  }
  return addresses;
}

function familyOf(addressOrBlock: string): Family {
  return addressOrBlock.includes(":") ? "ipv6" : "ipv4";
}
