import { describe, expect, test } from "bun:test";
import { parseAllowedNetworks } from "../../src/input/allowed-networks.ts";
import { vet, whyNotPublic } from "../../src/outbound/address-guard.ts";
import { AllowedNetworks } from "../../src/outbound/allowed-networks.ts";
import { until } from "../support/conditions.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";

/** A guard that allows these networks, on a machine without addresses of its own. */
function allowing(text: string, ownAddresses: string[] = []) {
  const networks = parseAllowedNetworks(text);
  if ("problem" in networks) throw new Error(networks.problem);
  return { blockPrivate: true, allow: new AllowedNetworks(networks), ownAddresses: () => ownAddresses };
}

const guard = allowing("10.1.0.0/16, fd00:1::/48,192.168.7.20");

describe("an allowed network", () => {
  test.each(["10.1.0.0", "10.1.255.255", "192.168.7.20", "fd00:1::", "fd00:1::a:1", "93.184.215.14"])(
    "lets a delivery through to %s",
    (address) => expect(whyNotPublic(address, guard)).toBeUndefined(),
  );

  test.each([
    ["before it", "10.0.255.255"],
    ["behind it", "10.2.0.0"],
    ["beside a single address", "192.168.7.21"],
    ["before one of IPv6", "fd00:0:ffff::1"],
    ["behind one of IPv6", "fd00:1:1::"],
    ["of this machine", "127.0.0.1"],
    ["of this machine in IPv6", "::1"],
    ["of a metadata service", "169.254.169.254"],
    ["of a metadata service in IPv6", "fd00:ec2::254"],
    ["mapped", "::ffff:a01:1"],
    ["translated", "::ffff:0:a01:1"],
    ["compatible", "::a01:1"],
    ["of NAT64", "64:ff9b::a01:1"],
    ["of a NAT64 of one's own", "64:ff9b:1::a01:1"],
    ["of 6to4", "2002:a01:1::"],
    ["of Teredo", "2001::a01:1"],
  ])("leaves an address refused that is %s", (_, address) => {
    expect(whyNotPublic(address, guard)).toBeString();
  });

  test("lets a delivery through to an address of this machine only if that is within it", () => {
    const { allow, ownAddresses } = allowing("10.1.0.0/16", ["10.1.0.5", "10.2.0.5", "93.184.215.14"]);
    expect(whyNotPublic("10.1.0.5", { allow, ownAddresses })).toBeUndefined();
    expect(whyNotPublic("10.2.0.5", { allow, ownAddresses })).toBeString();
    expect(whyNotPublic("93.184.215.14", { allow, ownAddresses })).toBeString();
  });

  test("lets a name through if each of its addresses is allowed or public", async () => {
    const judge = async (...answers: string[]) => {
      const vetted = await vet("http://ci.example/", { ...guard, resolve: async () => answers }, 1_000);
      return vetted.ok ? vetted.addresses : vetted.reason;
    };
    expect(await judge("10.1.0.7", "93.184.215.14")).toEqual(["10.1.0.7", "93.184.215.14"]);
    expect(await judge("10.1.0.7", "10.2.0.7")).toBe("blocked");
    expect(await judge("::ffff:10.1.0.7")).toBe("blocked");
    expect(await judge("10.1.0.7", "::ffff:a01:7")).toBe("blocked");
  });

  test.each(["localhost", "ci.internal", "ci.local", "ci"])("leaves the name %s refused", async (name) => {
    const resolve = async () => ["10.1.0.7"];
    expect(await vet(`http://${name}/`, { ...guard, resolve }, 1_000)).toMatchObject({ reason: "blocked" });
  });
});

describe("a server that allows one address of this machine", () => {
  test("delivers there, and refuses everything else at the creation and at each attempt", async () => {
    await using stage = await startWebhookStage();
    await using elsewhere = startReceiver();
    const { port } = new URL(elsewhere.url);
    const before = await stage.subscribe(
      { url: `http://127.0.0.2:${port}/` },
      { events: ["message.created"] },
    );
    await stage.restart({
      WEBHOOKS_BLOCK_PRIVATE_URLS: "",
      WEBHOOKS_ALLOW_ADDRESSES: "127.0.0.1,fd00:1::/48",
    });
    await using allowed = await stage.listen({ events: ["message.created"] });
    await stage.post(stage.team.general, "inside");
    expect((await allowed.delivered()).map(({ data }) => data.body)).toEqual(["inside"]);

    const attempts = async () => (await stage.shown(before)).deliveries;
    await until("the other address was tried", async () => (await attempts()).length > 0);
    expect((await attempts())[0]?.error).toBe("blocked: the URL is not publicly reachable");
    expect(elsewhere.requests).toEqual([]);
    for (const host of [
      "127.0.0.2",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "[64:ff9b::7f00:1]",
      "localhost",
    ]) {
      const body = { name: "other", url: `http://${host}:${port}/`, events: ["message.created"] };
      const answer = await stage.api.post<{ errors: { url: string[] } }>("/webhooks", body);
      expect(answer.status, host).toBe(422);
      expect(answer.json.errors.url).toEqual([
        "The url field must be a publicly reachable http or https address.",
      ]);
    }
  });
});
