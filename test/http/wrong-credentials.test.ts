import { describe, expect, test } from "bun:test";
import { notFound } from "../../src/errors.ts";
import { networkOf } from "../../src/http/client-address.ts";
import { RateLimit } from "../../src/http/rate-limit.ts";
import { WrongCredentials } from "../../src/http/wrong-credentials.ts";
import { createLog } from "../../src/log/log.ts";

describe("an address is counted", () => {
  test.each([
    ["an IPv4 address", "192.0.2.7", "192.0.2.7"],
    ["an IPv4 address that an IPv6 socket shows", "::ffff:192.0.2.7", "192.0.2.7"],
    ["the loopback address", "::1", "0:0:0:0::/64"],
    ["an address without zeros", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["an address with zeros at its end", "2001:db8::", "2001:db8:0:0::/64"],
    ["an address with zeros in its network", "2001:db8::1", "2001:db8:0:0::/64"],
    ["an address with zeros in its host", "2001:db8:1:2::6", "2001:db8:1:2::/64"],
    ["an address with zeros at its beginning", "::2:3:4:5:6:7", "0:0:2:3::/64"],
  ])("%s by the part that belongs to one host", (_, address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});

describe("wrong credentials", () => {
  /** The count with a clock that the test sets, for requests that come from the address set last. */
  function counting() {
    const at = { now: 1_000_000, address: "192.0.2.1" };
    const lines: string[] = [];
    const log = createLog("info", { write: (line) => void lines.push(line) });
    const wrong = new WrongCredentials(
      log,
      () => at.address,
      () => at.now,
    );
    const request = new Request("http://localhost/");
    const refused = (): string => wrong.errorOf(request, notFound("thing")).code;
    return { at, lines, refused };
  }

  test("from all hosts of one IPv6 network share a count, and the next network has its own", () => {
    const { at, refused } = counting();
    for (let host = 1; host <= 600; host++) {
      at.address = `2001:db8::${host.toString(16)}`;
      expect(refused()).toBe("not_found");
    }
    at.address = "2001:db8::ffff:1";
    expect(refused()).toBe("rate_limited");
    at.address = "2001:db8:0:1::1";
    expect(refused()).toBe("not_found");
  });

  test("get the usual error again after a minute, and the next excess is logged again", () => {
    const { at, lines, refused } = counting();
    for (let minute = 1; minute <= 2; minute++) {
      for (let request = 0; request < 600; request++) expect(refused()).toBe("not_found");
      for (let request = 0; request < 3; request++) expect(refused()).toBe("rate_limited");
      expect(lines).toHaveLength(minute);
      at.now += 60_000;
    }
  });

  test("from addresses beyond the maximum share a count, and those within it keep their own", () => {
    const { at, refused } = counting();
    const refusedFrom = (address: number) => {
      at.address = `10.${address >> 16}.${(address >> 8) & 255}.${address & 255}`;
      return refused();
    };
    for (let address = 0; address < 10_000; address++) expect(refusedFrom(address)).toBe("not_found");
    for (let address = 10_000; address < 10_600; address++) expect(refusedFrom(address)).toBe("not_found");
    expect(refusedFrom(10_600)).toBe("rate_limited");
    expect(refusedFrom(0)).toBe("not_found");
    expect(refusedFrom(9_999)).toBe("not_found");
    at.now += 120_000;
    expect(refusedFrom(10_600)).toBe("not_found");
  });
});

test("a bounded count holds no more keys however many come, and has room again once their windows end", () => {
  let now = 0;
  const rateLimit = new RateLimit(600, { now: () => now, keysMax: 10_000 });
  for (let key = 0; key < 1_000_000; key++) {
    now += 1;
    rateLimit.take(`2001:db8:${(key >> 16).toString(16)}:${(key & 0xffff).toString(16)}::/64`);
    if (rateLimit.size > 10_001) expect(rateLimit.size).toBeLessThanOrEqual(10_001);
  }
  expect(rateLimit.size).toBeWithin(1, 10_002);
  now += 120_000;
  rateLimit.take("a late one");
  expect(rateLimit.size).toBe(1);
});
