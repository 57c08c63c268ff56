import { describe, expect, test } from "bun:test";
import { columnOf } from "../support/data.ts";
import { run } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { startCollector } from "../support/receivers/collector.ts";
import { startServer } from "../support/server.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";

describe("a collector", () => {
  test("that refuses spans is named in the log once, until it takes them again", async () => {
    await using collector = startCollector();
    collector.answer = () => new Response("no such tenant", { status: 400 });
    await using stage = await startWebhookStage({ PARLEY_OTLP_ENDPOINT: collector.endpoint });
    const about = () => stage.server.logLines().filter((line) => line.includes('"traces.'));
    for (let batches = 1; batches <= 3; batches++) {
      await stage.post(stage.team.general);
      await until("a batch is refused", () => collector.requests.length >= batches);
    }
    expect(about()).toHaveLength(1);
    expect(about()[0]).toContain("The collector answered 400.");
    collector.answer = () => new Response();
    await stage.post(stage.team.general);
    await until("the log tells the end of it", () => about().length === 2);
    expect(about()[1]).toContain("traces.sent_again");
  });

  test("that hangs holds up neither posts nor deliveries, nor the stop for long", async () => {
    await using collector = startCollector();
    collector.answer = () => new Promise(() => {});
    await using stage = await startWebhookStage({ PARLEY_OTLP_ENDPOINT: collector.endpoint });
    await using listener = await stage.listen();
    await stage.post(stage.team.general);
    await until("a batch hangs", () => collector.requests.length > 0);
    await stage.post(stage.team.general);
    expect(await listener.delivered()).toHaveLength(2);
    // The collector still hangs when this is over.
    await stage.stop();
  });

  test("that is away fails no command, and is named in the log without its password", async () => {
    const collector = startCollector();
    const { endpoint } = collector;
    await collector[Symbol.asyncDispose]();
    const settings = { PARLEY_OTLP_ENDPOINT: endpoint.replace("//", "//parley:pass-word@") };
    await using stage = await startWebhookStage(settings);
    const bot = await stage.bot();
    const command = ["channels", "add-member", (await stage.channel()).id, bot.id];
    const ran = await run(stage.dataDir, command, settings);
    expect(ran).toMatchObject({ status: 0, stderr: expect.stringMatching(/^Next: .*\n$/) });
    await stage.post(stage.team.general);
    const isOutage = () => stage.server.logLines().some((line) => line.includes("traces.not_sent"));
    await until("the log tells that spans are lost", isOutage);
    expect(stage.server.logLines().join("\n")).not.toContain("pass-word");
  });

  test("gets the user name and the password of its address, and all spans before a stop", async () => {
    await using collector = startCollector();
    const endpoint = `${collector.endpoint.replace("//", "//parley:pass-word@")}/base`;
    await using stage = await startWebhookStage({ PARLEY_OTLP_ENDPOINT: endpoint });
    await stage.post(stage.team.general);
    await stage.stop();
    const authorization = `Basic ${btoa("parley:pass-word")}`;
    expect(collector.requests[0]).toEqual({ path: "/base/v1/traces", authorization });
    expect(collector.spans.map(({ name }) => name)).toContain("POST /api/v1/channels/:channel/messages");
  });
});

test("without a collector nothing is stored with an event, and a traceparent goes no further", async () => {
  await using stage = await startWebhookStage();
  await using listener = await stage.listen();
  const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  const path = `/channels/${stage.team.general.id}/messages`;
  expect((await stage.api.post(path, { body: "hi" }, { traceparent })).status).toBe(201);
  expect((await listener.receiver.nth(1)).headers.has("traceparent")).toBe(false);
  expect(await columnOf(stage.dataDir, "SELECT traceparent FROM events")).toEqual([null]);
  expect(stage.server.logLines().join("\n")).not.toContain("trace_id");
});

test("an address that is none is refused without showing it", async () => {
  const refused = startServer({ environment: { PARLEY_OTLP_ENDPOINT: "collector:secret@host" } });
  const said = await refused.then(
    () => "",
    (error: unknown) => String(error),
  );
  expect(said).toContain("PARLEY_OTLP_ENDPOINT");
  expect(said).not.toContain("secret@host");
});
