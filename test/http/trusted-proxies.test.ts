import { describe, expect, test } from "bun:test";
import { TrustedProxies } from "../../src/http/trusted-proxies.ts";
import { canonicalAddress, parseAddressBlocks } from "../../src/input/address-block.ts";

/** Whom a server that trusts these proxies takes for the client. */
function clientOf(trusted: string, peer: string, forwarded?: string): string {
  const proxies = new TrustedProxies(parseAddressBlocks(trusted) ?? []);
  return proxies.clientOf(peer, new Headers(forwarded === undefined ? {} : { "x-forwarded-for": forwarded }));
}

const lan = "10.0.0.0/8, 2001:db8:aa::/48, ::1";

describe("behind trusted proxies the client is", () => {
  test.each([
    ["the peer without a header", "10.0.0.1", undefined, "10.0.0.1"],
    ["the peer with an empty header", "10.0.0.1", "", "10.0.0.1"],
    ["whom the proxy names", "10.0.0.1", "192.0.2.7", "192.0.2.7"],
    ["whom an IPv6 proxy names", "2001:db8:aa::1", "2001:db8::7", "2001:db8::7"],
    ["the last one that is no proxy", "10.0.0.1", "192.0.2.7, 10.9.9.9, 2001:db8:aa::2", "192.0.2.7"],
    ["not whom the client made up before that", "10.0.0.1", "203.0.113.9, 192.0.2.7, 10.9.9.9", "192.0.2.7"],
    ["not a proxy that the client made up", "10.0.0.1", "10.0.0.66, 192.0.2.7", "192.0.2.7"],
    ["the first proxy where all are trusted", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["an address with a port", "10.0.0.1", "192.0.2.7:51000", "192.0.2.7"],
    ["an IPv6 address in brackets", "10.0.0.1", "[2001:db8::7]", "2001:db8::7"],
    ["an IPv6 address in brackets with a port", "10.0.0.1", "[2001:db8::7]:51000", "2001:db8::7"],
    ["an IPv6 address in one form only", "10.0.0.1", "2001:DB8:0:0:0::07", "2001:db8::7"],
    ["an IPv4 address mapped into IPv6", "10.0.0.1", "::ffff:192.0.2.7", "192.0.2.7"],
    ["the same in hexadecimal", "10.0.0.1", "::ffff:c000:207", "192.0.2.7"],
    ["behind a proxy mapped into IPv6", "10.0.0.1", "192.0.2.7, ::ffff:10.0.0.9", "192.0.2.7"],
    ["named with spaces and tabs around", "10.0.0.1", "203.0.113.9 ,\t192.0.2.7  ", "192.0.2.7"],
  ])("%s", (_, peer, forwarded, client) => {
    expect(clientOf(lan, peer, forwarded)).toBe(client);
  });

  test.each([
    "unknown",
    "_hidden",
    "",
    "192.0.2",
    "192.0.2.256",
    "192.0.2.07",
    "0xc0000207",
    "3221225991",
    "192.0.2.7:port",
    "192.0.2.7:1234567",
    "[192.0.2.7",
    "[2001:db8::7]x",
    "2001:db8::7::1",
    "fe80::1%eth0",
    "client.example",
    "for=192.0.2.7",
    '"192.0.2.7"',
    "192.0.2.7/24",
    "<script>",
    "’",
    "9".repeat(5_000),
  ])("the last trusted proxy when the one before it is %j", (garbage) => {
    const headers = { get: () => `203.0.113.9, ${garbage}, 10.0.0.2` } as unknown as Headers;
    const proxies = new TrustedProxies(parseAddressBlocks(lan) ?? []);
    expect(proxies.clientOf("10.0.0.1", headers)).toBe("10.0.0.2");
  });
});

test("a peer that is no trusted proxy is never believed, and its header is not even read", () => {
  const proxies = new TrustedProxies(parseAddressBlocks(lan) ?? []);
  const unread = {
    get: () => {
      throw new Error("it was read");
    },
  } as unknown as Headers;
  for (const peer of ["192.0.2.1", "11.0.0.1", "2001:db8:ab::1", "::2", "127.0.0.1"]) {
    expect(proxies.clientOf(peer, unread)).toBe(peer);
  }
});

describe("the setting", () => {
  test.each([
    ["10.0.0.1", "10.0.0.1", "10.0.0.2"],
    ["10.0.0.0/8", "10.255.255.255", "11.0.0.0"],
    ["10.1.2.3/8", "10.9.9.9", "11.0.0.0"],
    ["10.0.0.0/31,10.0.0.9", "10.0.0.9", "10.0.0.2"],
    ["0.0.0.0/0", "203.0.113.9", "2001:db8::1"],
    ["::1", "::1", "::2"],
    ["2001:db8::/32", "2001:db8:ffff::1", "2001:db9::1"],
    ["2001:DB8::/32", "2001:db8::1", "2001:db9::1"],
    ["::ffff:10.0.0.0/104", "10.9.9.9", "11.0.0.1"],
    ["::ffff:10.0.0.1", "10.0.0.1", "10.0.0.2"],
  ])("%s trusts %s and not %s", (text, trusted, other) => {
    const hop = "198.51.100.4";
    expect(clientOf(text, trusted, hop)).toBe(hop);
    expect(clientOf(text, other, hop)).toBe(other);
  });

  test.each([
    "",
    " ",
    ",",
    "10.0.0.1,",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "10.0.0/8",
    "::/129",
    "::ffff:10.0.0.0/8",
    "proxy.example",
    "10.0.0.1 10.0.0.2",
    "10.0.0.1-10.0.0.9",
    "*",
    "unix:",
  ])("does not take %j", (text) => {
    expect(parseAddressBlocks(text)).toBeUndefined();
  });
});

test("an address has one form", () => {
  for (const [text, form] of [
    ["192.0.2.7", "192.0.2.7"],
    ["::FFFF:192.0.2.7", "192.0.2.7"],
    ["0:0:0:0:0:0:0:1", "::1"],
    ["::ffff:0:1", "0.0.0.1"],
    ["::ffff:0:0:1", "::ffff:0:0:1"],
  ] as const)
    expect(canonicalAddress(text)).toBe(form);
});
