import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { mkdirSync, writeFileSync } from "node:fs";
import { readConfig } from "../../src/config.ts";
import { type Authority, createAuthority } from "../outbound/certificates.ts";
import { until } from "../support/conditions.ts";
import { tlsReceiver } from "../support/receivers/tls-receiver.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temporary-folder.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

let folder: TemporaryFolder;
let usual: Authority;
let own: Authority;
let another: Authority;
beforeAll(() => {
  folder = temporaryFolder();
  [usual, own, another] = ["usual", "own", "another"].map((name) => {
    mkdirSync(at(name));
    return createAuthority(at(name));
  }) as [Authority, Authority, Authority];
});
afterAll(() => folder[Symbol.dispose]());

function at(...parts: string[]): string {
  return join(folder.path, ...parts);
}

describe("a server with authorities of its own", () => {
  let stage: WebhookStage;
  beforeAll(async () => {
    writeFileSync(at("both.pem"), `An authority:\n${own.ca}\nand another one:\n${another.ca}`);
    stage = await startWebhookStage({
      WEBHOOKS_CA_FILE: at("both.pem"),
      // Stands for the public authorities, of which no test has a key.
      NODE_EXTRA_CA_CERTS: at("usual", "ca.pem"),
      WEBHOOKS_MAX_ATTEMPTS: "1",
    });
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  /** What became of a delivery to a receiver on this machine with a certificate for the address. */
  async function outcome(authority: Authority, address: string) {
    await using receiver = await tlsReceiver(authority.issue(`IP:${address}`));
    const channel = await stage.channel();
    const subscription = await stage.subscribe(
      { url: `https://127.0.0.1:${receiver.port}/` },
      { events: ["message.created"], channel_ids: [channel.id] },
    );
    await stage.post(channel);
    const attempts = async () => (await stage.shown(subscription)).deliveries;
    await until("it was attempted", async () => (await attempts()).length > 0);
    const [attempt] = await attempts();
    return attempt?.error ?? attempt?.response_status;
  }

  test("delivers to receivers with certificates from any of them", async () => {
    expect([await outcome(own, "127.0.0.1"), await outcome(another, "127.0.0.1")]).toEqual([204, 204]);
  });

  test("still trusts the usual authorities", async () => {
    expect(await outcome(usual, "127.0.0.1")).toBe(204);
  });

  test("still verifies the name", async () => {
    expect(await outcome(own, "127.0.0.2")).toBe("TLS certificate does not match the host name");
  });

  test("trusts no other authority", async () => {
    mkdirSync(at("stranger"));
    const stranger = createAuthority(at("stranger"));
    expect(await outcome(stranger, "127.0.0.1")).toBe("TLS certificate not trusted");
  });
});

describe("a file of authorities stops the start, in one line with its name and what it takes,", () => {
  function problem(path: string): string {
    try {
      readConfig(folder.path, { WEBHOOKS_CA_FILE: path });
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
    return "none";
  }

  test.each([
    ["is missing", "nowhere.pem", undefined, "cannot be read (ENOENT"],
    ["is empty", "empty.pem", "", "is empty"],
    ["is a folder", ".", undefined, "is not a regular file"],
    ["holds a key alone", "own/ca.key", undefined, "holds no certificate in PEM"],
    ["holds text alone", "text.pem", "Our authority", "holds no certificate in PEM"],
    [
      "holds a broken certificate",
      "broken.pem",
      "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
      "holds a certificate that cannot be read, number 1",
    ],
    ["is too large", "large.pem", "x".repeat(1024 * 1024 + 1), "is over 1048576 bytes"],
  ])("if it %s", (_, name, text, words) => {
    if (text !== undefined) writeFileSync(at(name), text);
    const said = problem(at(name));
    expect(said).toStartWith(`WEBHOOKS_CA_FILE is ${at(name)}, which ${words}`);
    expect(said).toEndWith("; it takes the absolute path of a file with certificates of authorities in PEM.");
    expect(said.split("\n")).toHaveLength(1);
  });

  test("if its path is not absolute", () => {
    expect(problem("ca.pem")).toContain("is ca.pem, which is not an absolute path");
  });
});
