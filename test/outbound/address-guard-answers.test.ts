import { describe, expect, test } from "bun:test";
import { type AddressGuard, vet } from "../../src/outbound/address-guard.ts";
import { send, type SendOutcome } from "../../src/outbound/send.ts";
import { noContent, rawReceiver } from "../support/receivers/raw-receiver.ts";

const timeoutMs = 300;

/** What a delivery does: vets the URL, and connects to what was vetted or to nothing. */
async function deliver(text: string, guard: Partial<AddressGuard>): Promise<SendOutcome | string> {
  const vetted = await vet(text, { blockPrivate: true, ownAddresses: () => [], ...guard }, timeoutMs);
  if (!vetted.ok) return vetted.reason;
  return send({ url: vetted.url, addresses: vetted.addresses, body: "{}", headers: {}, timeoutMs });
}

function failing(code: string): () => Promise<never> {
  return () => Promise.reject(Object.assign(new Error(`queryA ${code} receiver.test`), { code }));
}

// A receiver listens on the IPv4 loopback and on the URL's port, so that a wrong turn of these answers would be seen.
const blocked: [what: string, answers: string[]][] = [
  ["loopback", ["127.0.0.1"]],
  ["a public address and then a private one", ["93.184.215.14", "10.0.0.1"]],
  ["a private address and then a public one", ["10.0.0.1", "93.184.215.14"]],
  ["loopback and then a public address", ["127.0.0.1", "93.184.215.14"]],
  ["a public IPv6 address and then loopback", ["2606:4700::1111", "::1"]],
  ["a public IPv4 address and then an IPv6 loopback", ["93.184.215.14", "::1"]],
  ["a mapped address in mixed notation", ["::ffff:127.0.0.1"]],
  ["a mapped address in hex", ["::ffff:7f00:1"]],
  ["a mapped public address", ["::ffff:93.184.215.14"]],
  ["an address with a zone", ["fe80::1%eth0"]],
  ["a public address with a zone", ["2606:4700::1111%lo"]],
  ["a metadata service behind NAT64", ["64:ff9b::a9fe:a9fe"]],
  ["a metadata service", ["169.254.169.254"]],
  ["a metadata service of IPv6", ["fd00:ec2::254"]],
  ["something that is not an address", ["not an ip"]],
  ["a name", ["localhost"]],
  ["an empty text", [""]],
  ["a short form of loopback", ["127.1"]],
  ["loopback as one number", ["2130706433"]],
  ["a public address and then a short form of loopback", ["93.184.215.14", "127.1"]],
  ["500 addresses of which the last is private", [...Array<string>(499).fill("93.184.215.14"), "127.0.0.1"]],
  ["101 public addresses", Array<string>(101).fill("93.184.215.14")],
];

describe("a delivery", () => {
  test.each(blocked)("is blocked without a connection when the name has %s", async (_, answers) => {
    await using receiver = await rawReceiver(noContent);
    const outcome = await deliver(`http://receiver.test:${receiver.port}/`, { resolve: async () => answers });
    expect(outcome).toBe("blocked");
    expect(receiver.connections()).toBe(0);
  });

  test.each([
    ["no address", async () => []],
    ["no such name", failing("DNS_ENOTFOUND")],
    ["a server that fails", failing("ESERVFAIL")],
    ["a resolver that never answers", () => Promise.withResolvers<string[]>().promise],
    [
      "a resolver that throws at once",
      () => {
        throw new Error("out of file descriptors");
      },
    ],
  ])("fails without a connection when the name has %s", async (_, resolve) => {
    await using receiver = await rawReceiver(noContent);
    const outcome = await deliver(`http://receiver.test:${receiver.port}/`, {
      resolve,
      allow: ["127.0.0.1"],
    });
    expect(outcome).toBe("unresolvable");
    expect(receiver.connections()).toBe(0);
  });

  test("is blocked when the name has an address of this machine and a public one", async () => {
    const outcome = await deliver("http://receiver.test/", {
      resolve: async () => ["2606:4700::1111", "93.184.215.14"],
      ownAddresses: () => ["93.184.215.14"],
    });
    expect(outcome).toBe("blocked");
  });

  test("goes to the vetted address, which is resolved once", async () => {
    await using receiver = await rawReceiver(noContent);
    const asked: string[] = [];
    const outcome = await deliver(`http://receiver.test:${receiver.port}/`, {
      allow: ["127.0.0.1"],
      // Public when first asked and private ever after, as a name is that wants to get past a check.
      resolve: async (host) => (asked.push(host) === 1 ? ["127.0.0.1"] : ["127.0.0.2"]),
    });
    expect(outcome).toMatchObject({ kind: "answered", status: 204 });
    expect(asked).toEqual(["receiver.test"]);
    expect(receiver.connections()).toBe(1);
  });

  test("is blocked when the name was public at registration and is private now", async () => {
    await using receiver = await rawReceiver(noContent);
    const url = `http://receiver.test:${receiver.port}/`;
    const addresses = ["93.184.215.14", "127.0.0.1"];
    const guard = { blockPrivate: true, resolve: async () => [addresses.shift() ?? ""] };
    expect(await vet(url, guard, timeoutMs)).toMatchObject({ ok: true, addresses: ["93.184.215.14"] });
    expect(await deliver(url, guard)).toBe("blocked");
    expect(receiver.connections()).toBe(0);
  });

  test("is blocked by its name before the name is resolved", async () => {
    const resolve = () => Promise.reject(new Error("nobody should ask"));
    for (const host of ["localhost", "printer.local", "metadata.google.internal", "intranet"]) {
      expect(await deliver(`http://${host}/`, { resolve })).toBe("blocked");
    }
  });

  test("to an address needs no resolver", async () => {
    await using receiver = await rawReceiver(noContent);
    const resolve = () => Promise.reject(new Error("nobody should ask"));
    const url = `http://127.0.0.1:${receiver.port}/`;
    expect(await deliver(url, { resolve })).toBe("blocked");
    expect(await deliver("http://[::ffff:127.0.0.1]/", { resolve })).toBe("blocked");
    expect(receiver.connections()).toBe(0);
    expect(await deliver(url, { resolve, allow: ["127.0.0.1"] })).toMatchObject({ status: 204 });
  });
});

describe("the addresses of a name", () => {
  const guard = { blockPrivate: true, ownAddresses: () => [] };

  test("pass in the order of the response, each once, when all are public", async () => {
    const answers = ["93.184.215.14", "2606:4700::1111", "93.184.215.14"];
    const vetted = await vet("https://receiver.test/", { ...guard, resolve: async () => answers }, timeoutMs);
    expect(vetted).toMatchObject({ ok: true, addresses: ["93.184.215.14", "2606:4700::1111"] });
  });

  test("pass up to a hundred", async () => {
    const answers = Array.from({ length: 100 }, (_, last) => `93.184.215.${last}`);
    const vetted = await vet("https://receiver.test/", { ...guard, resolve: async () => answers }, timeoutMs);
    expect(vetted).toMatchObject({ ok: true, addresses: answers });
  });

  test("are resolved without the final dot of a fully qualified name", async () => {
    const resolve = async (host: string) => (host === "receiver.test" ? ["93.184.215.14"] : []);
    expect(await vet("https://RECEIVER.test./", { ...guard, resolve }, timeoutMs)).toMatchObject({
      ok: true,
    });
  });

  test("come from the system by default", async () => {
    expect(await vet("http://localhost/", { blockPrivate: false }, 5_000)).toMatchObject({
      ok: true,
      addresses: expect.arrayContaining([expect.stringMatching(/^(?:127\.0\.0\.1|::1)$/)]),
    });
  });

  test("are waited for no longer than the timeout", async () => {
    const startedAt = performance.now();
    const vetted = await vet(
      "https://receiver.test/",
      { ...guard, resolve: () => Promise.withResolvers<string[]>().promise },
      50,
    );
    expect(vetted).toEqual({
      ok: false,
      reason: "unresolvable",
      detail: "name resolution timed out after 50 ms",
    });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  test.each([
    ["DNS_ENOTFOUND", "host name not found"],
    ["ESERVFAIL", "name resolution failed"],
  ])("that cannot be had are explained without what the resolver wrote (%s)", async (code, detail) => {
    const vetted = await vet("https://receiver.test/", { ...guard, resolve: failing(code) }, timeoutMs);
    expect(vetted).toEqual({ ok: false, reason: "unresolvable", detail });
  });
});

describe("with the public-address rule switched off", () => {
  const guard = { blockPrivate: false };

  test("a name may have a private address, and the connection still goes to the resolved address", async () => {
    await using receiver = await rawReceiver(noContent);
    const url = `http://intranet:${receiver.port}/`;
    const outcome = await deliver(url, { ...guard, resolve: async () => ["127.0.0.1"] });
    expect(outcome).toMatchObject({ kind: "answered", status: 204 });
    expect(receiver.received()[0]).toContain(`Host: intranet:${receiver.port}\r\n`);
  });

  test.each([["127.1"], ["fe80::1%eth0"], ["localhost"], ["[::1]"], [""]])(
    "a response that is not an address in canonical text still blocks: %p",
    async (answer) => {
      expect(await deliver("http://intranet/", { ...guard, resolve: async () => [answer] })).toBe("blocked");
    },
  );

  test("a malformed URL is still refused, for what it is", async () => {
    expect(await deliver("http://user@receiver.test/", guard)).toBe("malformed");
    expect(await deliver("http://127.1/", guard)).toBe("malformed");
  });
});
