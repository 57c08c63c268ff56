import { describe, expect, test } from "bun:test";
import { whyNotPublic } from "../../src/outbound/address-guard.ts";

/** Whether a delivery may go to the address, on a machine that has no address of its own in the way. */
function isPublic(address: string): boolean {
  return whyNotPublic(address, { ownAddresses: () => [] }) === undefined;
}

// First and last address of each block, then its neighbours. A neighbour that lies in another block is left out.
const ipv4: [block: string, first: string, last: string, neighbours: string[]][] = [
  ["0.0.0.0/8", "0.0.0.0", "0.255.255.255", ["1.0.0.0"]],
  ["10.0.0.0/8", "10.0.0.0", "10.255.255.255", ["9.255.255.255", "11.0.0.0"]],
  ["100.64.0.0/10", "100.64.0.0", "100.127.255.255", ["100.63.255.255", "100.128.0.0"]],
  ["127.0.0.0/8", "127.0.0.0", "127.255.255.255", ["126.255.255.255", "128.0.0.0"]],
  ["168.63.129.16/32", "168.63.129.16", "168.63.129.16", ["168.63.129.15", "168.63.129.17"]],
  ["169.254.0.0/16", "169.254.0.0", "169.254.255.255", ["169.253.255.255", "169.255.0.0"]],
  ["172.16.0.0/12", "172.16.0.0", "172.31.255.255", ["172.15.255.255", "172.32.0.0"]],
  ["192.0.0.0/24", "192.0.0.0", "192.0.0.255", ["191.255.255.255", "192.0.1.0"]],
  ["192.0.2.0/24", "192.0.2.0", "192.0.2.255", ["192.0.1.255", "192.0.3.0"]],
  ["192.31.196.0/24", "192.31.196.0", "192.31.196.255", ["192.31.195.255", "192.31.197.0"]],
  ["192.52.193.0/24", "192.52.193.0", "192.52.193.255", ["192.52.192.255", "192.52.194.0"]],
  ["192.88.99.0/24", "192.88.99.0", "192.88.99.255", ["192.88.98.255", "192.88.100.0"]],
  ["192.168.0.0/16", "192.168.0.0", "192.168.255.255", ["192.167.255.255", "192.169.0.0"]],
  ["192.175.48.0/24", "192.175.48.0", "192.175.48.255", ["192.175.47.255", "192.175.49.0"]],
  ["198.18.0.0/15", "198.18.0.0", "198.19.255.255", ["198.17.255.255", "198.20.0.0"]],
  ["198.51.100.0/24", "198.51.100.0", "198.51.100.255", ["198.51.99.255", "198.51.101.0"]],
  ["203.0.113.0/24", "203.0.113.0", "203.0.113.255", ["203.0.112.255", "203.0.114.0"]],
  ["224.0.0.0/4", "224.0.0.0", "239.255.255.255", ["223.255.255.255"]],
  ["240.0.0.0/4", "240.0.0.0", "255.255.255.255", []],
];

const f = "ffff:ffff:ffff:ffff"; // the lower half of a block's last address
const ipv6: typeof ipv4 = [
  ["2000::/3", "1fff::1", `1fff:ffff:ffff:ffff:${f}`, ["2000::", `3ffe:ffff:ffff:ffff:${f}`]],
  ["past 2000::/3", "4000::", `ffff:ffff:ffff:ffff:${f}`, []],
  ["2001::/23", "2001::", `2001:1ff:ffff:ffff:${f}`, [`2000:ffff:ffff:ffff:${f}`, "2001:200::"]],
  ["2001:db8::/32", "2001:db8::", `2001:db8:ffff:ffff:${f}`, [`2001:db7:ffff:ffff:${f}`, "2001:db9::"]],
  ["2002::/16", "2002::", `2002:ffff:ffff:ffff:${f}`, [`2001:ffff:ffff:ffff:${f}`, "2003::"]],
  [
    "2620:4f:8000::/48",
    "2620:4f:8000::",
    `2620:4f:8000:ffff:${f}`,
    [`2620:4f:7fff:ffff:${f}`, "2620:4f:8001::"],
  ],
  ["3fff::/20", "3fff::", `3fff:fff:ffff:ffff:${f}`, [`3ffe:ffff:ffff:ffff:${f}`, "3fff:1000::"]],
];

describe.each([...ipv4, ...ipv6])("the block %s", (_, first, last, neighbours) => {
  test("is refused from its first address to its last", () => {
    expect(isPublic(first)).toBe(false);
    expect(isPublic(last)).toBe(false);
  });

  test("ends there", () => {
    expect(neighbours.filter((address) => !isPublic(address))).toEqual([]);
  });
});

describe("IPv6 outside of 2000::/3", () => {
  test.each([
    ["::", "unspecified"],
    ["::1", "loopback"],
    ["::2", "IPv4-compatible"],
    ["::808:808", "IPv4-compatible"],
    ["::ffff:0:0", "IPv4-mapped"],
    ["::ffff:7f00:1", "IPv4-mapped"],
    ["::ffff:808:808", "IPv4-mapped"],
    ["::ffff:ffff:ffff", "IPv4-mapped"],
    ["::ffff:0:808:808", "IPv4-translated"],
    ["64:ff9b::", "NAT64"],
    ["64:ff9b::a9fe:a9fe", "NAT64"],
    ["64:ff9b::ffff:ffff", "NAT64"],
    ["64:ff9b::1:0:0", "not global unicast"],
    ["64:ff9b:1::", "NAT64 of a network's own"],
    [`64:ff9b:1:ffff:${f}`, "NAT64 of a network's own"],
    ["100::", "discard only"],
    [`100::${f}`, "discard only"],
    ["100:0:0:1::", "dummy prefix"],
    ["5f00::", "segment routing identifiers"],
    ["fc00::", "unique local"],
    ["fd00:ec2::254", "unique local"],
    [`fdff:ffff:ffff:ffff:${f}`, "unique local"],
    ["fe80::", "link local"],
    [`febf:ffff:ffff:ffff:${f}`, "link local"],
    ["fec0::", "site local"],
    ["ff02::1", "multicast"],
    ["8000::1", "not global unicast"],
    ["e000::1", "not global unicast"],
  ])("%s is refused as %s", (address, name) => {
    expect(whyNotPublic(address)).toContain(name);
  });
});

test.each([
  "169.254.169.254",
  "169.254.170.2",
  "169.254.170.23",
  "100.100.100.200",
  "192.0.0.192",
  "168.63.129.16",
  "fd00:ec2::254",
  "fd00:ec2::23",
  "fd20:ce::254",
])("the metadata service of a cloud at %s is refused", (address) => {
  expect(isPublic(address)).toBe(false);
});

test.each(["2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"])(
  "Teredo is refused whatever it carries: %s",
  (address) => {
    expect(whyNotPublic(address)).toContain("Teredo");
  },
);

test.each([
  "1.1.1.1",
  "8.8.8.8",
  "93.184.215.14",
  "223.255.255.255",
  "2606:4700::1111",
  "2a00:1450:4001:80b::200e",
  "2001:4860:4860::8888",
])("an ordinary public address passes: %s", (address) => {
  expect(isPublic(address)).toBe(true);
});

test.each([
  ["of the mapped form in mixed notation", "::ffff:8.8.8.8"],
  ["of the compatible form in mixed notation", "::8.8.8.8"],
  ["with a zone", "fe80::1%eth0"],
  ["that is public, with a zone", "2606:4700::1111%eth0"],
  ["in upper case", "2606:4700::ABCD"],
  ["with zeros written out", "2606:4700:0:0:0:0:0:1111"],
  ["with leading zeros in a group", "2606:4700::0111"],
  ["in brackets", "[2606:4700::1111]"],
  ["of IPv4 with leading zeros", "08.8.8.8"],
  ["of IPv4 in three parts", "8.8.8"],
  ["of IPv4 as one number", "134744072"],
  ["of IPv4 in hex", "0x8.8.8.8"],
  ["with a space", " 8.8.8.8"],
  ["with a line end", "8.8.8.8\n"],
  ["with a port", "8.8.8.8:80"],
  ["in full-width digits", "８.8.8.8"],
  ["that is a name", "one.one.one.one"],
  ["that is empty", ""],
])("a text %s is refused", (_, address) => {
  expect(isPublic(address)).toBe(false);
});

test("an address of this machine is refused, although it would be public elsewhere", () => {
  const ownAddresses = () => ["93.184.215.14", "2606:4700::1111"];
  expect(whyNotPublic("93.184.215.14", { ownAddresses })).toContain("this machine");
  expect(whyNotPublic("2606:4700::1111", { ownAddresses })).toContain("this machine");
  expect(whyNotPublic("93.184.215.15", { ownAddresses })).toBeUndefined();
});

test("an allowed address passes, but no other in its block", () => {
  const allow = ["127.0.0.1", "::1"];
  expect(whyNotPublic("127.0.0.1", { allow })).toBeUndefined();
  expect(whyNotPublic("::1", { allow })).toBeUndefined();
  expect(whyNotPublic("127.0.0.2", { allow })).toBeDefined();
  expect(whyNotPublic("::ffff:7f00:1", { allow })).toBeDefined();
});
