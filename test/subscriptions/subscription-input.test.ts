import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

const url = "https://93.184.215.14/hook";

let stage: WebhookStage;
beforeAll(async () => {
  // The default: only public addresses are accepted.
  stage = await startWebhookStage({ WEBHOOKS_BLOCK_PRIVATE_URLS: "" });
});
afterAll(() => stage[Symbol.asyncDispose]());

const whole = { name: "CI", url, events: ["message.created"] };

async function refusal(change: object | string): Promise<Record<string, string[]>> {
  const before = await stage.api.get("/webhooks");
  const body = typeof change === "string" ? change : { ...whole, ...change };
  const { status, json, text } = await stage.api.post("/webhooks", body);
  expect(status, text).toBe(422);
  expect((await stage.api.get("/webhooks")).text).toBe(before.text);
  return json.errors ?? {};
}

describe("a new subscription is rejected", () => {
  test.each([
    ["name", undefined],
    ["name", null],
    ["name", ""],
    ["name", 42],
    ["name", "x".repeat(256)],
    ["name", "two\nlines"],
    ["name", "a\u0000b"],
    ["url", undefined],
    ["url", null],
    ["url", ""],
    ["url", 42],
    ["url", [url]],
    ["url", `${url}/`.padEnd(2049, "x")],
    ["events", undefined],
    ["events", null],
    ["events", []],
    ["events", "message.created"],
    ["events", { 0: "message.created" }],
    ["events.0", ["message.read"]],
    ["events.1", ["message.created", "MESSAGE.CREATED"]],
    ["events.0", [null]],
    ["events.0", ["ping"]],
    ["status", "disabled"],
    ["consecutive_failures", 9],
    ["id", crypto.randomUUID()],
    ["channel_ids", []],
    ["channel_ids", "general"],
    ["channel_ids", {}],
    ["channel_ids.0", ["general"]],
    ["channel_ids.0", [null]],
    ["channel_ids.0", [crypto.randomUUID()]],
  ])("for its %s", async (field, value) => {
    const [name = ""] = field.split(".");
    expect(Object.keys(await refusal({ [name]: value }))).toEqual([field]);
  });

  test("for a channel of another workspace, like one that does not exist", async () => {
    const own = await stage.channel("private");
    const { general } = await stage.workspace.team("Umbrella");
    const foreign = await refusal({ channel_ids: [own.id, general.id] });
    const unknown = await refusal({ channel_ids: [own.id, crypto.randomUUID()] });
    expect(Object.keys(foreign)).toEqual(["channel_ids.1"]);
    expect(foreign).toEqual(unknown);
  });

  test("with all errors at once", async () => {
    const errors = await refusal({ name: "", url: 1, events: [], channel_ids: [1] });
    expect(Object.keys(errors).sort()).toEqual(["channel_ids.0", "events", "name", "url"]);
    const nothing = await refusal("{}");
    expect(Object.keys(nothing).sort()).toEqual(["events", "name", "url"]);
  });

  test.each(["", "[]", "null", '"x"', "{", "[".repeat(50)])("when its body is %p", async (body) => {
    expect(Object.keys(await refusal(body))).toEqual(["body"]);
  });
});

describe("a new subscription is accepted", () => {
  test("with the longest name and URL, counted in code points", async () => {
    const longest = `${url}/`.padEnd(2048, "x");
    const subscription = await stage.subscribe({ url: longest }, { name: "🙂".repeat(255) });
    expect(subscription).toMatchObject({ name: "🙂".repeat(255), url: longest });
  });

  test("with every event, duplicates counted once, and ids in either case", async () => {
    const channel = await stage.channel();
    const { events, channel_ids } = await stage.subscribe(
      { url },
      {
        events: ["channel.member_added", "message.deleted", "message.deleted"],
        channel_ids: [channel.id.toUpperCase(), channel.id],
      },
    );
    expect(events).toEqual(["channel.member_added", "message.deleted"]);
    expect(channel_ids).toEqual([channel.id]);
  });

  test.each([
    "http://93.184.215.14",
    "http://93.184.215.14:8080/a/b?c=d&e=%20",
    "https://[2606:4700:4700::1111]/hook",
    "HTTPS://93.184.215.14/",
  ])("with the public URL %s, stored as sent", async (address) => {
    expect((await stage.subscribe({ url: address })).url).toBe(address);
  });

  test("with a host name that does not resolve yet: each delivery looks it up again", async () => {
    expect((await stage.subscribe({ url: "https://hooks.example.invalid/x" })).status).toBe("active");
  });
});

describe("an unusable URL is rejected with the reason", () => {
  const folded = "it contains an IPv4 address that is not in dotted decimal form";
  const scheme = "it does not start with http:// or https://";
  const character = "it contains a space, a control character or a backslash";
  test.each([
    ["http://127.0.0.1./", folded],
    ["http://127.1/", folded],
    ["http://0x7f000001/", folded],
    ["http://2130706433/", folded],
    ["http://0177.0.0.1/", folded],
    ["http://１２７.０.０.１/", folded],
    ["http://user:password@93.184.215.14/", "it contains a user name or a password"],
    ["http://93.184.215.14@127.0.0.1/", "it contains a user name or a password"],
    ["http://127.0.0.1#@93.184.215.14/", "it has a fragment"],
    ["http://93.184.215.14/#fragment", "it has a fragment"],
    ["ftp://93.184.215.14/", scheme],
    ["file:///etc/passwd", scheme],
    ["gopher://93.184.215.14/", scheme],
    ["javascript:alert(1)", scheme],
    ["//93.184.215.14/", scheme],
    ["/hook", scheme],
    ["93.184.215.14", scheme],
    ["http://", "it has no host"],
    ["http:///hook", "it has no host"],
    ["http://exa%00mple.com/", "it cannot be parsed"],
    ["http://*.example.com/", "it has a host that is not a host name"],
    [" http://93.184.215.14/", character],
    ["http://93.184.215.14/a b", character],
    ["http://93.184.215.14/\r\nHost: x", character],
    ["http://93.184.215.14\\@127.0.0.1/", character],
    ["http://93.184.215.14:0/", "it has port 0"],
    ["http://93.184.215.14:99999/", "it cannot be parsed"],
  ])("%j", async (address, wrong) => {
    expect(await refusal({ url: address })).toEqual({ url: [`The url field cannot be used: ${wrong}.`] });
  });
});

describe("a URL that is not public is rejected, always with the same message", () => {
  const words = ["The url field must be a publicly reachable http or https address."];
  test.each([
    "http://localhost/",
    "http://LOCALHOST:8080/x",
    "http://localhost./",
    "http://api.localhost/",
    "http://printer.local/",
    "http://vault.internal/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://intranet/",
    "http://127.0.0.1/",
    "http://0.0.0.0/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://168.63.129.16/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
  ])("%j", async (address) => {
    expect(await refusal({ url: address })).toEqual({ url: words });
  });

  test("while the log tells the operator the reason", async () => {
    const { headers } = await stage.api.post("/webhooks", { ...whole, url: "http://10.1.2.3/" });
    const line = await stage.server.logLine((entry) => String(entry.detail).includes("10.1.2.3"));
    expect(line.msg).toBe("webhook.url_refused");
    expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });
});
