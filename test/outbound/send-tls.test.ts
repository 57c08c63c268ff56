import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { send } from "../../src/outbound/send.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";
import { type Authority, createAuthority, type KeyPair, selfSigned } from "./certificates.ts";
import { tlsReceiver } from "../support/receivers/tls-receiver.ts";

const notTheName = "TLS certificate does not match the host name";

describe("a delivery over TLS", () => {
  let folders: TemporaryFolder[];
  let authority: Authority;
  let other: Authority;
  let right: KeyPair;

  beforeAll(() => {
    folders = [temporaryFolder(), temporaryFolder()];
    const [first = temporaryFolder(), second = temporaryFolder()] = folders;
    authority = createAuthority(first.path);
    other = createAuthority(second.path);
    right = authority.issue("DNS:receiver.test");
  });

  afterAll(() => {
    for (const folder of folders) folder[Symbol.dispose]();
  });

  function post(url: string, address = "127.0.0.1", ca: string | undefined = authority.ca) {
    return send({ url: new URL(url), addresses: [address], body: "{}", headers: {}, timeoutMs: 2_000, ca });
  }

  test("names the host of the URL in the handshake and in the request, wherever it connects to", async () => {
    await using receiver = await tlsReceiver(right);
    const outcome = await post(`https://receiver.test:${receiver.port}/hook`);
    expect(outcome).toMatchObject({ kind: "answered", status: 204 });
    expect(receiver.serverNames()).toEqual(["receiver.test"]);
    expect(receiver.requests()[0]).toContain(`Host: receiver.test:${receiver.port}\r\n`);
  });

  test("leaves out the final dot of a fully qualified name", async () => {
    await using receiver = await tlsReceiver(right);
    expect(await post(`https://receiver.test.:${receiver.port}/`)).toMatchObject({ status: 204 });
    expect(receiver.serverNames()).toEqual(["receiver.test"]);
  });

  test.each([
    ["the name among others", "hooks.receiver.test", "DNS:other.test,DNS:hooks.receiver.test"],
    ["a wildcard for its last part", "hooks.receiver.test", "DNS:*.receiver.test"],
    ["the address that the URL names", "127.0.0.1", "IP:127.0.0.1"],
  ])("trusts a certificate with %s", async (_, host, names) => {
    await using receiver = await tlsReceiver(authority.issue(names));
    expect(await post(`https://${host}:${receiver.port}/`)).toMatchObject({ kind: "answered", status: 204 });
  });

  test("trusts a certificate with the IPv6 address that the URL names", async () => {
    await using receiver = await tlsReceiver(authority.issue("IP:::1"), "::1");
    expect(await post(`https://[::1]:${receiver.port}/`, "::1")).toMatchObject({ status: 204 });
  });

  test.each<[string, string, () => KeyPair, string]>([
    ["for another host", "receiver.test", () => authority.issue("DNS:other.test"), notTheName],
    [
      "for a host that only begins alike",
      "receiver.test",
      () => authority.issue("DNS:receiver.test.evil.test"),
      notTheName,
    ],
    ["for hosts below", "receiver.test", () => authority.issue("DNS:*.receiver.test"), notTheName],
    [
      "for hosts two levels up",
      "a.b.receiver.test",
      () => authority.issue("DNS:*.receiver.test"),
      notTheName,
    ],
    ["for the address only", "receiver.test", () => authority.issue("IP:127.0.0.1"), notTheName],
    ["for a name when the URL has an address", "127.0.0.1", () => right, notTheName],
    ["with the name as common name only", "receiver.test", () => authority.issue(undefined), notTheName],
    [
      "with the name as common name beside another",
      "receiver.test",
      () => authority.issue("DNS:other.test"),
      notTheName,
    ],
    [
      "of another authority",
      "receiver.test",
      () => other.issue("DNS:receiver.test"),
      "TLS certificate not trusted",
    ],
    [
      "that vouches for itself",
      "receiver.test",
      () => selfSigned(folders[0]?.path ?? ""),
      "TLS certificate not trusted",
    ],
    [
      "that has expired",
      "receiver.test",
      () => authority.issue("DNS:receiver.test", { until: 2021 }),
      "TLS certificate expired",
    ],
    [
      "that is not valid yet",
      "receiver.test",
      () => authority.issue("DNS:receiver.test", { from: 2089 }),
      "TLS certificate not yet valid",
    ],
  ])("sends nothing to a receiver with a certificate %s", async (_, host, pair, error) => {
    await using receiver = await tlsReceiver(pair());
    expect(await post(`https://${host}:${receiver.port}/`)).toMatchObject({ kind: "unreachable", error });
    expect(receiver.requests()).toEqual([]);
  });

  test("trusts no authority that the system does not trust, unless it is given one", async () => {
    await using receiver = await tlsReceiver(right);
    const url = new URL(`https://receiver.test:${receiver.port}/`);
    const outcome = await send({ url, addresses: ["127.0.0.1"], body: "{}", headers: {}, timeoutMs: 2_000 });
    expect(outcome).toMatchObject({ kind: "unreachable", error: "TLS certificate not trusted" });
    expect(receiver.requests()).toEqual([]);
  });

  test("checks each host, although another one at the same address was just trusted", async () => {
    await using receiver = await tlsReceiver(right);
    expect(await post(`https://receiver.test:${receiver.port}/`)).toMatchObject({ status: 204 });
    expect(await post(`https://other.test:${receiver.port}/`)).toMatchObject({ error: notTheName });
    expect(receiver.requests()).toHaveLength(1);
  });
});
