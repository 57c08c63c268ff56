import { expect, test } from "bun:test";
import { cpSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HeldEvent } from "../../src/deliveries/held.ts";
import type { Message } from "../../src/messages/schemas.ts";
import { type ApiClient, apiClient } from "../support/client.ts";
import { runJson } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { labelledBlocks } from "../support/documents.ts";
import { atEndOfRun } from "../support/end-of-run.ts";
import { type Answering, startReceiver } from "../support/receivers/receiver.ts";
import { startServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { envelopeOf } from "../support/webhook-stage.ts";
import { openWorkspace } from "../support/workspace.ts";
import { litestreamProgram } from "./litestream-program.ts";

/** Go is a compiler that not everybody has. Without it there is nothing to be tested. */
const testWithGo = Bun.which("go") === null ? () => {} : test;

const settings = { WEBHOOKS_BLOCK_PRIVATE_URLS: "false", WEBHOOKS_TIMEOUT: "300" };
/** As long as a message may be, so that few of them fill the write-ahead log several times. */
const body = "x".repeat(7_990);
const patient = { timeout_ms: 120_000 };

/** Posts into the channel on several connections, one message after the other, until it is told to stop. */
function startLoad(client: ApiClient, channel: string) {
  const acknowledged: string[] = [];
  let isOver = false;
  const send = async () => {
    while (!isOver) {
      const input = { body: `${acknowledged.length} ${body}` };
      const { status, json } = await client.post<{ data: Message }>(`/channels/${channel}/messages`, input);
      expect(status).toBe(201);
      acknowledged.push(json.data.id);
    }
  };
  const sending = Promise.all(Array.from({ length: 4 }, send));
  return {
    acknowledged,
    stop: async () => {
      isOver = true;
      await sending;
    },
  };
}

/** The ids of all messages of the channel. */
async function messagesOf(client: ApiClient, channel: string): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let page = 1, pages = 1; page <= pages; page++) {
    const { json } = await client.get<{ data: Message[]; meta: { total: number; per_page: number } }>(
      `/channels/${channel}/messages?page=${page}`,
    );
    for (const { id } of json.data) ids.add(id);
    pages = Math.ceil(json.meta.total / json.meta.per_page);
  }
  return ids;
}

testWithGo(
  "a folder that is lost under load comes back from Litestream's replica, and sends nothing twice unasked",
  async () => {
    const program = (await litestreamProgram()) ?? "";
    using folder = temporaryFolder();
    const at = (name: string) => join(folder.path, name);
    const data = at("data");
    const database = join(data, "parley.db");
    mkdirSync(data);
    const { token, channel } = await makeTeam(data);
    cpSync(join(data, "secret.key"), at("secret.key"));
    const server = await startServer({ dataDir: data, environment: settings });
    await using _server = server;

    // A receiver that lets every event wait, until it is released.
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const answer: Answering = async () => await released.then(() => new Response(null, { status: 204 }));
    await using receiver = startReceiver(answer);
    const client = apiClient(server.url, token);
    const subscription = { name: "Main", url: receiver.url, events: ["message.created"] };
    expect((await client.post("/webhooks", subscription)).status).toBe(201);

    const [config] = labelledBlocks("docs/litestream.md");
    const yaml = (config?.code ?? "")
      .replace("/run/litestream.sock", at("socket"))
      .replace("/var/lib/parley", data)
      .replace("/mnt/backup/parley", at("replica"));
    writeFileSync(at("litestream.yml"), yaml);
    const run = (...args: string[]) =>
      Bun.spawn([program, ...args], { stdin: "ignore", stdout: "ignore", stderr: Bun.file(at("log")) });
    const replicating = run("replicate", "-config", at("litestream.yml"));
    const forget = atEndOfRun(() => replicating.kill("SIGKILL"));

    const load = startLoad(client, channel);
    const sizeBefore = statSync(database).size;
    await until(
      "the log has been checkpointed under load",
      () => statSync(database).size > 4 * sizeBefore,
      patient,
    );
    const synced = await until(
      "Litestream has synced",
      async () => {
        const before = [...load.acknowledged];
        const sync = run("sync", "-wait", "-timeout", "60", "-socket", at("socket"), database);
        return (await sync.exited) === 0 && before;
      },
      patient,
    );
    replicating.kill("SIGKILL");
    await replicating.exited;
    forget();
    await load.stop();
    // Everything that waited is delivered, and some of it was acknowledged after the last sync.
    release();
    const all = load.acknowledged.length;
    await until("everything is delivered", () => receiver.requests.length >= all, patient);
    const sent = new Set(receiver.requests.map((request) => envelopeOf(request).id));
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(server.logLines().filter((line) => line.includes("files.lost"))).toEqual([]);
    await server.kill9();
    rmSync(data, { recursive: true });

    mkdirSync(data);
    expect(await run("restore", "-o", database, `file://${at("replica")}`).exited).toBe(0);
    cpSync(at("secret.key"), join(data, "secret.key"));
    await server.start();
    const restored = apiClient(server.url, token);
    const messages = await messagesOf(restored, channel);
    expect(synced.filter((id) => !messages.has(id))).toEqual([]);
    expect(synced.length).toBeGreaterThan(100);

    const hold = await server.logLine(({ msg }) => msg === "deliveries.held");
    expect(hold.reason).toContain("its marker is missing");
    const held = await runJson<HeldEvent[]>(data, [
      "deliveries",
      "held",
      "--webhook",
      "Main",
      "--limit",
      "100000",
    ]);
    // Nothing had been delivered by the last sync, so exactly the messages of the copy would be sent again.
    expect(held).toHaveLength(messages.size);
    expect(held.filter(({ event_id }) => !sent.has(event_id))).toEqual([]);
    const { status } = await restored.post(`/channels/${channel}/messages`, { body: "later" });
    expect(status).toBe(201);
    const requests = receiver.requests.length;
    await runJson(data, ["deliveries", "discard", "--yes"]);
    await until("what came later is delivered", () => receiver.requests.length > requests, patient);
    expect(receiver.requests.slice(requests).map((request) => envelopeOf(request).data.body)).toEqual([
      "later",
    ]);
  },
  1_800_000,
);

/** A team with a channel, and a token of its owner with every scope. */
async function makeTeam(dataDir: string): Promise<{ token: string; channel: string }> {
  await using workspace = await openWorkspace(dataDir);
  const team = await workspace.team("Acme");
  return { token: (await workspace.token(team.owner)).token, channel: team.general.id };
}
