import { describe, expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { judgeUrl } from "../../src/outbound/address-guard.ts";

const closed = { blockPrivate: true };
const open = { blockPrivate: false };

/** The long detail would say the same in other words; what counts is whether the URL is taken. */
function isTaken(text: string, guard = closed): boolean {
  return judgeUrl(text, guard).ok;
}

// URLs that break the rules of syntax, whatever the setting says.
const malformed: [what: string, url: string][] = [
  ["nothing", ""],
  ["no scheme", "example.com/hook"],
  ["another scheme", "ftp://example.com/"],
  ["a file", "file:///etc/passwd"],
  ["a socket", "unix:/run/parley.sock"],
  ["one slash", "http:/example.com/"],
  ["no slash", "http:example.com/"],
  ["three slashes", "http:///example.com/"],
  ["no host", "http://"],
  ["no host but a path", "https:///hook"],
  ["a port without a host", "http://:80/"],
  ["a user name", "http://user@example.com/"],
  ["a user name and a password", "http://user:secret@example.com/"],
  ["an empty user name", "http://@example.com/"],
  ["an address disguised as a user name", "http://example.com@127.0.0.1/"],
  ["a fragment", "http://example.com/#here"],
  ["an empty fragment", "http://example.com/#"],
  ["port 0", "http://example.com:0/"],
  ["port 0 in two digits", "http://example.com:00/"],
  ["a port past 65535", "http://example.com:65536/"],
  ["a port that is no number", "http://example.com:http/"],
  ["a backslash in the path", "http://example.com/\\evil"],
  ["backslashes for slashes", "http:\\\\example.com\\"],
  ["a backslash behind the host", "http://example.com\\@127.0.0.1/"],
  ["a space in front", " http://example.com/"],
  ["a space behind", "http://example.com/ "],
  ["a space in the path", "http://example.com/a b"],
  ["a tab in the scheme", "ht\ttp://example.com/"],
  ["a tab in the host", "http://exam\tple.com/"],
  ["a line end in the host", "http://127.0.\n0.1/"],
  ["a line end in the path", "http://example.com/\r\nHost: evil"],
  ["a NUL", "http://example.com/\0"],
  ["a delete character", "http://example.com/\x7f"],
  ["a C1 control character", "http://example.com/\x85"],
  ["a NUL in percent form in the host", "http://exam%00ple.com/"],
  ["a host in two brackets", "http://[[::1]]/"],
  ["a name in brackets", "http://[example.com]/"],
  ["IPv4 in brackets", "http://[127.0.0.1]/"],
  ["a zone", "http://[fe80::1%25eth0]/"],
  ["a zone as it stands", "http://[fe80::1%eth0]/"],
  ["IPv6 without brackets", "http://::1/"],
  ["an empty label", "http://example..com/"],
  ["two dots at the end", "http://example.com../"],
  ["a host that is a dot", "http://./"],
  ["a star in the host", "http://*.example.com/"],
  ["an apostrophe in the host", "http://exa'mple.com/"],
  ["a bar in the host", "http://example.com|evil.com/"],
  ["a label of 64 characters", `http://${"a".repeat(64)}.com/`],
  ["a host of 254 characters", `http://${"a.".repeat(126)}ab/`],
  ["2049 characters", `http://example.com/${"a".repeat(2049 - 19)}`],
  ["IPv4 with a number past 255", "http://256.1.1.1/"],
  ["IPv4 with five numbers", "http://1.2.3.4.5/"],
];

// Spellings of 127.0.0.1 and of a public address that the URL parser folds into four decimal numbers.
const folded = [
  "127.1",
  "127.0.1",
  "0x7f.1",
  "0x7f.0.0.1",
  "0X7F000001",
  "0x7f000001",
  "2130706433",
  "017700000001",
  "0177.0.0.1",
  "127.0.0.01",
  "127.0.0.0x1",
  "127.0.0.1.",
  "127.1.",
  "１２７.0.0.1",
  "127。0。0。1",
  "127．0．0．1",
  "①②⑦.0.0.①",
  "①",
  "0",
  "%31%32%37.0.0.1",
  "127.0.0.1%2e",
  "8.8",
  "134744072",
  "8.8.8.8.",
  "８.8.8.8",
];

describe("the syntax of a subscription's URL", () => {
  test.each(malformed)("is broken by %s", (_, url) => {
    expect(isTaken(url)).toBe(false);
    expect(isTaken(url, open)).toBe(false);
  });

  test.each(folded)("does not allow an IPv4 address as %s", (host) => {
    for (const guard of [closed, open]) {
      expect(isTaken(`http://${host}/`, guard)).toBe(false);
      expect(isTaken(`https://${host}:8443/hook?a=b`, guard)).toBe(false);
    }
  });

  test.each([
    ["plain", "http://example.com"],
    ["with a path and a query", "https://hooks.example.com/a/b?c=d&e=%20f"],
    ["with a port", "https://example.com:8443/hook"],
    ["with the last port", "http://example.com:65535/"],
    ["in upper case", "HTTPS://EXAMPLE.COM/Hook"],
    ["with a trailing dot", "https://example.com./hook"],
    ["of another script", "https://bücher.example/é"],
    ["with an underscore", "https://my_hook.example.com/"],
    ["with an at sign in the path", "https://example.com/@me"],
    ["with a colon in the query", "https://example.com/?u=http://a:b@c"],
    ["with a label of 63 characters", `https://${"a".repeat(63)}.example/`],
    ["with a name that only begins like an address", "https://127.0.0.1.example.com/"],
    ["with 2048 characters", `http://example.com/${"a".repeat(2048 - 19)}`],
    ["with 2048 characters outside the basic plane", `http://example.com/${"🦜".repeat(2048 - 19)}`],
    ["to a public IPv4 address", "https://93.184.215.14:8443/hook"],
    ["to a public IPv6 address", "https://[2606:4700::1111]/hook"],
    ["to a public IPv6 address in another spelling", "https://[2606:4700:0:0:0:0:0:1111]/hook"],
  ])("is fine %s", (_, url) => {
    expect(isTaken(url)).toBe(true);
    expect(isTaken(url, open)).toBe(true);
  });
});

// Hosts that are well formed and not public.
const notPublic = [
  "localhost",
  "LOCALHOST",
  "localhost.",
  "ｌｏｃａｌｈｏｓｔ",
  "LOCAL%48OST",
  "foo.localhost",
  "foo.localhost.",
  "printer.local",
  "printer.LOCAL.",
  "metadata.google.internal",
  "metadata.google.internal.",
  "internal",
  "local",
  "intranet",
  "intranet.",
  "com",
  "0.0.0.0",
  "10.0.0.1",
  "127.0.0.1",
  "127.255.255.254",
  "169.254.169.254",
  "192.168.1.1",
  "255.255.255.255",
  "[::]",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[0000:0000::0001]",
  "[::127.0.0.1]",
  "[::7f00:1]",
  "[::ffff:127.0.0.1]",
  "[::FFFF:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::ffff:7f00:0001]",
  "[0:0:0:0:0:ffff:127.0.0.1]",
  "[0:0:0:0:0:ffff:7f00:1]",
  "[0000:0000:0000:0000:0000:ffff:7f00:0001]",
  "[::ffff:8.8.8.8]",
  "[::ffff:0:127.0.0.1]",
  "[64:ff9b::127.0.0.1]",
  "[64:ff9b::a9fe:a9fe]",
  "[2002:7f00:1::]",
  "[2001::7f00:1]",
  "[fe80::1]",
  "[fc00::1]",
  "[fec0::1]",
  "[ff02::1]",
];

describe("the public-address rule", () => {
  test.each(notPublic)("refuses the host %s", (host) => {
    expect(isTaken(`http://${host}/`)).toBe(false);
    expect(isTaken(`https://${host}:8443/hook?a=b`)).toBe(false);
  });

  test.each(notPublic)("allows the host %s when it is switched off", (host) => {
    expect(isTaken(`http://${host}/`, open)).toBe(true);
  });

  test("refuses every address of this machine", () => {
    const own = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
    expect(own.length).toBeGreaterThan(0);
    for (const { address, family } of own) {
      expect(isTaken(family === "IPv6" ? `http://[${address}]/` : `http://${address}/`)).toBe(false);
    }
  });

  test("allows an explicitly allowed address as the host of a URL", () => {
    const guard = { blockPrivate: true, allow: ["127.0.0.1", "::1"] };
    expect(isTaken("http://127.0.0.1:8080/", guard)).toBe(true);
    expect(isTaken("http://[::1]:8080/", guard)).toBe(true);
    expect(isTaken("http://127.0.0.2:8080/", guard)).toBe(false);
    expect(isTaken("http://localhost:8080/", guard)).toBe(false);
    expect(isTaken("http://127.1:8080/", guard)).toBe(false);
  });
});

test("an accepted URL is returned parsed", () => {
  const judged = judgeUrl("HTTPS://Example.COM:8443/a/../b?c", closed);
  expect(judged.ok && judged.url.href).toBe("https://example.com:8443/b?c");
});

test("a URL of megabytes is refused without being parsed", () => {
  const before = performance.now();
  expect(isTaken(`http://${"a.".repeat(5_000_000)}com/`)).toBe(false);
  expect(performance.now() - before).toBeLessThan(100);
});
