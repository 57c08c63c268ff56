import { afterEach, describe, expect, test } from "bun:test";
import { getServers, setServers } from "node:dns";
import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Resolver } from "../../src/outbound/resolver.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { nameServer } from "./name-server.ts";

const usualServers = getServers();
afterEach(() => setServers(usualServers));

describe("a name", () => {
  test("is found in the hosts file", async () => {
    expect(await new Resolver().resolve("localhost")).toContain("127.0.0.1");
  });

  test("that does not exist is reported as not found", async () => {
    await using server = await nameServer("192.0.2.1");
    setServers([`127.0.0.1:${server.port}`]);
    const failure = await new Resolver().resolve("missing.example.test").catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "DNS_ENOTFOUND" });
  });

  test("is found at once while the name servers of many others hang", async () => {
    await using server = await nameServer("192.0.2.1");
    setServers([`127.0.0.1:${server.port}`]);
    const resolver = new Resolver();
    const hanging = Array.from({ length: 100 }, (_, count) =>
      resolver.resolve(`hangs${count}.example.test`).catch(() => "failed"),
    );
    expect(await resolver.resolve("answers.example.test")).toEqual(["192.0.2.1"]);
    expect(await Promise.race([...hanging, Promise.resolve("still waiting")])).toBe("still waiting");
  });
});

test("another name server is used when the machine's configuration names another one", async () => {
  await using first = await nameServer("192.0.2.1");
  await using second = await nameServer("192.0.2.2");
  using folder = temporaryFolder();
  const configuration = join(folder.path, "resolv.conf");
  writeFileSync(configuration, "");
  setServers([`127.0.0.1:${first.port}`]);
  const resolver = new Resolver(configuration);
  expect(await resolver.resolve("one.example.test")).toEqual(["192.0.2.1"]);

  writeFileSync(configuration, `# moved\nsearch example.test\nnameserver 127.0.0.1:${second.port}\n`);
  utimesSync(configuration, 1, 1);
  expect(await resolver.resolve("two.example.test")).toEqual(["192.0.2.2"]);
});
