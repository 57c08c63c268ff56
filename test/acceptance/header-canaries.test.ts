import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run, runJson } from "../support/cli.ts";
import { readServedData } from "../support/data-folder.ts";
import { engine } from "../support/engine.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";

/** What every value of a header in this test contains, so that one search finds any. */
const canary = "c4n4ry-b1rd";
const events = ["message.created"];

test("the value of a header is found nowhere in clear, not even if the receiver repeats it", async () => {
  // So that only the start of the value is kept, of which 1,024 bytes are.
  const padding = "x".repeat(1_024 - canary.length - 12);
  await using receiver = startReceiver(({ headers }, nth) => {
    const repeated = JSON.stringify(headers.toJSON());
    const body = nth % 2 === 0 ? repeated : padding + headers.get("x-api-key");
    return new Response(body, { status: nth === 1 ? 500 : 200 });
  });
  await using stage = await startWebhookStage({ PARLEY_LOG_LEVEL: "trace" });
  writeFileSync(join(stage.dataDir, "parley.toml"), "webhooks_block_private_urls = false\n");
  const channel = await stage.channel();
  const said: string[] = [];
  const command = async (...args: string[]) => {
    const { stdout, stderr } = await run(stage.dataDir, args);
    said.push(stdout, stderr);
  };
  const api = async (method: "get" | "post" | "patch", path: string, body?: object) => {
    said.push((await stage.api[method](path, body as never)).text);
  };

  const headers = {
    Authorization: `Bearer ${canary}-1`,
    "x-api-key": `${canary}-"quoted"-and-rather-long-2`,
  };
  const input = { name: "Canary", events, channel_ids: [channel.id], headers };
  const { id } = await stage.subscribe(receiver, input);
  await stage.post(channel, "fails at first");
  await stage.drained({ id });
  await api("patch", `/webhooks/${id}`, { headers: { "x-more": `${canary}-3` } });
  await api("patch", `/webhooks/${id}`, {
    headers: { "x-more": `${canary}\r\nx-b: 1`, host: canary, "": canary },
  });
  await api("patch", `/webhooks/${id}`, { headers: canary });
  await api("patch", `/webhooks/${id}`, { url: "http://127.0.0.1:9/" });
  await api("post", "/webhooks", { ...input, url: "ftp://example.com", headers: { "x-a": `${canary} ` } });
  await stage.post(channel, "has three");
  await stage.drained({ id });
  for (const path of ["/webhooks", `/webhooks/${id}`, `/webhooks/${id}/deliveries`]) await api("get", path);

  const { deliveries } = await stage.shown({ id });
  expect(deliveries.length).toBe(3);
  for (const delivery of deliveries) {
    await command("deliveries", "show", delivery.id);
    await command("deliveries", "explain", delivery.id);
    await command("deliveries", "replay", delivery.id, "--json");
  }
  for (const args of [
    ["webhooks", "ping", "Canary"],
    ["webhooks", "grade", "Canary", "--json"],
    ["trigger", "message.created", "--webhook", "Canary"],
    ["webhooks", "show", "Canary", "--json"],
    ["webhooks", "list", "--json"],
    ["deliveries", "list", "--json"],
    ["audit", "list", "--json"],
    ["secrets", "rotate-key", "--json"],
    ["webhooks", "ping", "Canary", "--json"],
    ["doctor", "--json"],
    ["status", "--json"],
  ])
    await command(...args);

  expect(receiver.requests.length).toBe(13);
  const places = await readServedData(stage.dataDir);
  const log = stage.server.logLines();
  await stage.stop();
  for (const [file, content] of await readServedData(stage.dataDir)) places.set(`${file}, stopped`, content);
  places.set("log", Buffer.from(log.join("\n"))).set("answers", Buffer.from(said.join("\n")));
  using folder = temporaryFolder();
  const backup = join(folder.path, "acme.tar");
  if (engine === "sqlite") {
    await runJson(stage.dataDir, ["backup", backup, "--without-key"]);
    places.set("backup", readFileSync(backup));
  }

  const found = [canary, Buffer.from(canary).toString("base64").slice(2, 12)].flatMap((trace) =>
    [...places].filter(([, content]) => content.includes(trace)).map(([place]) => place),
  );
  expect(found).toEqual([]);
  // What is looked for in the right places is found: the names, and that something was hidden.
  for (const shown of ["authorization, x-api-key, x-more", "(hidden)", "(never shown)", "webhook.edited"])
    expect(said.join("\n")).toContain(shown);
});
