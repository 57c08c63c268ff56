import { expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { whyNotPublic } from "../../src/outbound/address-guard.ts";
import { cachedOwnAddresses } from "../../src/outbound/own-addresses.ts";

const address = "93.184.215.14";

test("a new address of the machine is refused within a second, and one that it lost is not", () => {
  let addresses: string[] = [];
  let now = 5_000;
  const ownAddresses = cachedOwnAddresses(
    () => addresses,
    () => now,
  );
  expect(whyNotPublic(address, { ownAddresses })).toBeUndefined();
  addresses = [address];
  now += 1_000;
  expect(whyNotPublic(address, { ownAddresses })).toContain("this machine");
  addresses = [];
  now += 1_000;
  expect(whyNotPublic(address, { ownAddresses })).toBeUndefined();
});

test("addresses are read once a second, however many deliveries there are", () => {
  let asked = 0;
  let now = 5_000;
  const ownAddresses = cachedOwnAddresses(
    () => [`192.0.2.${asked++}`],
    () => now,
  );
  for (; now < 8_000; now++) whyNotPublic(address, { ownAddresses });
  expect(asked).toBe(3);
});

test("the addresses of all interfaces are read, of both families", () => {
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  expect(cachedOwnAddresses()()).toEqual(all.map((one) => one.address));
  expect(cachedOwnAddresses()()).toContain("127.0.0.1");
});
