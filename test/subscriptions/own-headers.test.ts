import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startReceiver } from "../support/receivers/receiver.ts";
import { startWebhookStage, type Subscribed, type WebhookStage } from "../support/webhook-stage.ts";

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const events = ["message.created"];
const url = "http://127.0.0.1:9/";

/** Changes the headers; the names that the subscription has then, or what is wrong by field. */
async function change({ id }: { id: string }, headers: unknown): Promise<unknown> {
  return await edit({ id }, { headers });
}

async function edit({ id }: { id: string }, body: object): Promise<unknown> {
  type Edited = { data?: { header_names: string[] }; errors?: unknown };
  const { json } = await stage.api.patch<Edited>(`/webhooks/${id}`, body);
  return json.data?.header_names ?? json.errors;
}

test("go with each delivery, whose signatures and other headers stay as they are", async () => {
  const channel = await stage.channel();
  const headers = {
    Authorization: "Bearer a b=c",
    "X-Api-Key": '"~!"',
    constructor: "one",
    ["__proto__"]: "two",
  };
  await using listener = await stage.listen({ events, channel_ids: [channel.id], headers });
  await using plain = await stage.listen({ events, channel_ids: [channel.id] });
  expect(listener.subscription.header_names).toEqual([
    "__proto__",
    "authorization",
    "constructor",
    "x-api-key",
  ]);
  await stage.post(channel);
  await listener.delivered();
  await plain.delivered();
  const [request] = listener.receiver.requests;
  const [without] = plain.receiver.requests;
  const {
    authorization,
    "x-api-key": key,
    constructor: one,
    ["__proto__"]: two,
    ...rest
  } = request?.headers.toJSON() ?? {};
  expect([authorization, key, one as unknown, two]).toEqual(["Bearer a b=c", '"~!"', "one", "two"]);
  expect(Object.keys(rest).toSorted()).toEqual(Object.keys(without?.headers.toJSON() ?? {}).toSorted());
});

test("go no further than the receiver, wherever it redirects to", async () => {
  const channel = await stage.channel();
  await using elsewhere = startReceiver();
  const redirect = () => Response.redirect(elsewhere.url, 307);
  const input = { events, channel_ids: [channel.id], headers: { "x-api-key": "for one receiver" } };
  await using listener = await stage.listen(input, redirect);
  await stage.post(channel);
  await listener.delivered();
  expect(listener.receiver.requests[0]?.headers.get("x-api-key")).toBe("for one receiver");
  expect(elsewhere.requests).toEqual([]);
});

describe("a change", () => {
  test("sets and removes what it names, for what is sent from then on, and keeps the rest", async () => {
    const channel = await stage.channel();
    const headers = { "x-one": "1", "x-two": "2" };
    await using listener = await stage.listen({ events, channel_ids: [channel.id], headers });
    const { subscription, receiver } = listener;
    const sent = async () => {
      await stage.post(channel);
      await stage.drained(subscription);
      const last = receiver.requests.at(-1)?.headers;
      return ["x-one", "x-two", "x-three"].map((name) => last?.get(name));
    };
    expect(await sent()).toEqual(["1", "2", null]);
    const all = ["x-one", "x-three", "x-two"];
    expect(await change(subscription, { "X-Two": "two", "x-three": "3" })).toEqual(all);
    expect(await sent()).toEqual(["1", "two", "3"]);
    expect(await change(subscription, { "X-ONE": null })).toEqual(["x-three", "x-two"]);
    expect(await change(subscription, {})).toEqual(["x-three", "x-two"]);
    expect(await edit(subscription, { name: "Renamed" })).toEqual(["x-three", "x-two"]);
    expect(await sent()).toEqual([null, "two", "3"]);
    expect(await change(subscription, null)).toEqual([]);
    expect(await sent()).toEqual([null, null, null]);
  });

  test("is in the audit log with the names alone", async () => {
    await using listener = await stage.listen({ headers: { "x-hush": "canary-of-audit" } });
    const { id } = listener.subscription;
    await change({ id }, { "x-hush": "canary-of-audit-2", "x-more": "canary-of-audit-3" });
    const entries = [
      ...(await stage.audit("webhook.created")),
      ...(await stage.audit("webhook.edited")),
    ].filter(({ target }) => target === `webhook:${id}`);
    expect(entries.map(({ details }) => details.header_names)).toEqual([["x-hush"], ["x-hush", "x-more"]]);
    expect(JSON.stringify(entries)).not.toContain("canary");
  });

  test("of the URL to another host has to give each header again, or remove it", async () => {
    await using mine = startReceiver();
    const input = { url: "https://receiver.example/a", events, headers: { "x-one": "1", "x-two": "2" } };
    const before = await stage.subscribe({ url: input.url }, input);
    const refused = { url: [expect.stringMatching(/another host.*: x-one, x-two\.$/)] };
    for (const elsewhere of [mine.url, "http://receiver.example/a", "https://receiver.example:8443/a"])
      expect(await edit(before, { url: elsewhere })).toEqual(refused);
    expect(await edit(before, { url: mine.url, headers: { "x-one": "1" } })).toEqual({
      url: [expect.stringMatching(/: x-two\.$/)],
    });
    expect((await stage.shown(before)).url).toBe(input.url);
    expect(await edit(before, { url: "https://receiver.example/b" })).toEqual(["x-one", "x-two"]);
    expect(await edit(before, { url: mine.url, headers: { "x-one": "1", "x-two": null } })).toEqual([
      "x-one",
    ]);
    expect(await edit(before, { url: "https://receiver.example/", headers: null })).toEqual([]);
  });
});

describe("is refused by its field, without the value, and changes nothing", () => {
  let kept: Subscribed | undefined;
  const hidden = "canary-of-refusal";
  const ours = [
    "Host Connection Keep-Alive Transfer-Encoding TE Trailer Upgrade Expect Proxy-Authorization Proxy-Connection",
    "HTTP2-Settings Accept-Encoding Content-Length Content-Type Content-Encoding Content-Range User-Agent traceparent",
    "tracestate X-Service-Signature X-Service-Cursor X-Service-Anything Webhook-Id Webhook-Signature Forwarded Via",
    "X-Forwarded-For X-Forwarded-Host X-Real-IP X-Original-URL X-Rewrite-URL X-HTTP-Method-Override X-Method-Override",
    "X_Service_Signature Webhook_Id Content_Length Transfer.Encoding X_Forwarded_For",
  ].flatMap((line) => line.split(" "));
  const lineEnds = ["\r\nX-Injected: 1", "\nX-Injected: 1", "\rX-Injected: 1", "\u010D\u010A"];
  const others = ["\0", "\t", "\u007F", "é", "\u2028", " ", "\u00A0", "\uD800", "x".repeat(4_097)];
  const values = [...lineEnds, ...others].map((end) => hidden + end);
  const inputs: Array<[string, Record<string, unknown>, string]> = [
    ...ours.map((name): [string, Record<string, unknown>, string] => [
      name,
      { [name]: hidden },
      `headers.${name.toLowerCase()}`,
    ]),
    ...values.map((value, n): [string, Record<string, unknown>, string] => [
      `value ${n}`,
      { "x-a": value },
      "headers.x-a",
    ]),
    ["a leading space", { "x-a": ` ${hidden}` }, "headers.x-a"],
    ["an empty value", { "x-a": "" }, "headers.x-a"],
    ["a number", { "x-a": 42 }, "headers.x-a"],
    ["a list", { "x-a": [hidden] }, "headers.x-a"],
    ["one name twice", { "x-a": "1", "X-A": hidden }, "headers.x-a"],
    ["a whole line as the name", { [`x-a: ${hidden}`]: "1" }, "headers"],
    ["a line end in the name", { [`x-a\r\nx-b: ${hidden}`]: "1" }, "headers"],
    ["a name in other letters", { [`x-é${hidden}`]: "1" }, "headers"],
    ["an empty name", { "": hidden }, "headers"],
    ["a long name", { [`x-${"a".repeat(99)}`]: hidden }, "headers"],
    ["too many", Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`x-${n}`, hidden])), "headers"],
    ["too much", Object.fromEntries(["x-a", "x-b"].map((name) => [name, hidden.repeat(220)])), "headers"],
  ];

  test.each(inputs)("%s", async (_what, headers, field) => {
    const subscription = (kept ??= await stage.subscribe({ url }, { headers: { "x-kept": "1" } }));
    const before = await stage.api.get("/webhooks");
    const made = await stage.api.post("/webhooks", { name: "CI", url, events, headers });
    const edited = await stage.api.patch(`/webhooks/${subscription.id}`, { headers });
    for (const { status, json, text } of [made, edited]) {
      expect([status, Object.keys(json.errors ?? {})]).toEqual([422, [field]]);
      expect(text).not.toContain(hidden);
    }
    expect((await stage.api.get("/webhooks")).json).toEqual(before.json);
    expect(stage.server.logLines().join("\n")).not.toContain(hidden);
  });

  test("one to remove that is not there, or in a new subscription, and any where nothing is sent", async () => {
    const subscription = await stage.subscribe({ url }, { headers: { "x-kept": "1" } });
    expect(await change(subscription, { "x-kpet": null })).toEqual({
      "headers.x-kpet": [expect.stringContaining("It has: x-kept.")],
    });
    const [one, pull] = [{ "x-a": "1" }, { name: "CI", pull: true, events }];
    for (const [body, field] of [
      [{ name: "CI", url, events, headers: { "x-a": null } }, "headers.x-a"],
      [{ name: "CI", url, events, headers: [one] }, "headers"],
      [{ name: "CI", url, events, header: one }, "header"],
      [{ ...pull, headers: one }, "headers"],
    ] as const) {
      const { status, json } = await stage.api.post("/webhooks", body);
      expect([status, Object.keys(json.errors ?? {})]).toEqual([422, [field]]);
    }
    const { json } = await stage.api.post<{ data: { id: string } }>("/webhooks", pull);
    expect(await change(json.data, one)).toEqual({ headers: [expect.stringContaining("nothing is sent")] });
    expect(await edit(json.data, { url, headers: one })).toEqual(["x-a"]);
  });

  test("more than there may be, only after the change", async () => {
    const named = (from: number, to: number, value: string | null) =>
      Object.fromEntries(Array.from({ length: to - from }, (_, n) => [`x-${from + n}`, value]));
    const subscription = await stage.subscribe({ url }, { headers: named(0, 20, "1") });
    expect(await change(subscription, { "x-20": "1" })).toEqual({ headers: [expect.stringContaining("20")] });
    const swapped = { ...named(0, 20, null), ...named(20, 40, "1") };
    expect(await change(subscription, swapped)).toEqual(Object.keys(named(20, 40, "1")));
  });
});
