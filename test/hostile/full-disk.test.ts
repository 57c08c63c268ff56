import { describe, expect, test } from "bun:test";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createIncomingWebhook } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { parley, startServer, type TestServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace } from "../support/workspace.ts";

/** What a line of the log says here. */
type Line = { level: number; time: string; msg: string; of?: string; reason?: string; lines?: number };

/** A disk of 40 MB that only the server sees, filled from the folder `$1`, and then the server itself. */
const onSmallDisk = 'mount -t tmpfs -o size=40m tmpfs "$0" && cp -a "$1/." "$0" && shift && exec "$@"';

const sentence =
  "The disk is full. Nothing was saved; make room on the disk of the data folder and try again.";

const scimToken = "a-token-of-the-directory-for-this-test";

/** Posts JSON to an address outside of the API. */
async function send(server: TestServer, path: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(server.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    body: text === "" ? undefined : (JSON.parse(text) as unknown),
  };
}

/** Posts into the channel from all sides until `enough` of the answers are there. */
async function flood(post: () => Promise<void>, enough: () => boolean): Promise<void> {
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (!enough()) await post();
    }),
  );
}

function linesOf(server: TestServer): Line[] {
  return server.logLines().map((line) => JSON.parse(line) as Line);
}

async function health(server: TestServer) {
  const response = await fetch(`${server.url}/healthz`);
  return { status: response.status, body: (await response.json()) as { status: string; reason?: string } };
}

describe("a server whose disk is full", () => {
  test("refuses writes with a reason, loses nothing that it has accepted, and recovers without a restart", async () => {
    using seed = temporaryFolder();
    using place = temporaryFolder();
    const workspace = await openWorkspace(seed.path);
    const { owner, general } = await workspace.team("Acme");
    const { token } = await workspace.token(owner);
    const bot = await workspace.bot(owner.teamId, "Build Bot", [general]);
    const incoming = await workspace.database.write((tx) =>
      createIncomingWebhook(
        tx,
        new Vault(findKey(seed.path, "")),
        { bot, channel: general },
        { name: "test", signed: false },
        actor,
      ),
    );
    await workspace[Symbol.asyncDispose]();
    await using receiver = startReceiver();
    await using server = await startServer({
      dataDir: place.path,
      environment: {
        PATH: process.env.PATH ?? "",
        WEBHOOKS_BLOCK_PRIVATE_URLS: "false",
        INTEGRATIONS_INGEST_RATE_LIMIT: "1000000",
        SCIM_TOKEN: scimToken,
      },
      within: ["unshare", "--map-root-user", "--mount", "sh", "-c", onSmallDisk, place.path, seed.path],
    });
    const client = apiClient(server.url, token);
    const messages = `/channels/${general.id}/messages`;
    const hook = { name: "test", url: receiver.url, events: ["message.created"] };
    expect((await client.post("/webhooks", hook)).status).toBe(201);
    expect(await health(server)).toEqual({ status: 200, body: { status: "ok" } });

    // Of the 40 MB, three are left for the posts.
    const disk = `/proc/${server.pid}/root${place.path}`;
    const { bavail, bsize } = statfsSync(disk);
    const ballast = join(disk, "ballast");
    writeFileSync(ballast, Buffer.alloc(bavail * bsize - 3 * 1024 * 1024));

    const taken = new Set<string>();
    const refused: string[] = [];
    const body = "x".repeat(8_000);
    const post = async () => {
      const answer = await client.post<{ data: { id: string }; message: string }>(messages, { body });
      if (answer.status === 201) taken.add(answer.json.data.id);
      else refused.push(`${answer.status} ${answer.headers.get("retry-after")} ${answer.json.message}`);
    };
    await flood(post, () => refused.length >= 1_000);
    expect(new Set(refused)).toEqual(new Set([`503 5 ${sentence}`]));
    expect(taken.size).toBeGreaterThan(50);
    expect(await health(server)).toEqual({
      status: 503,
      body: {
        status: "failing",
        reason: expect.stringMatching(/^The disk is full: nothing can be written since 20[^ ]+\.$/) as string,
      },
    });
    expect((await client.get(messages)).status).toBe(200);
    // Small changes may still find room in what a failed one has left of the log.
    const ingested = await until("the ingest endpoint refuses, too", async () => {
      const answer = await send(server, `/webhooks/incoming/${incoming.token}`, { text: body });
      return answer.status !== 202 && answer;
    });
    expect(ingested).toEqual({ status: 503, retryAfter: "5", body: { message: sentence } });
    const provisioned = await until("the directory is refused, too", async () => {
      const user = { schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"], userName: Bun.randomUUIDv7() };
      const answer = await send(server, "/scim/v2/Users", user, { authorization: `Bearer ${scimToken}` });
      return answer.status !== 201 && answer;
    });
    expect(provisioned).toEqual({
      status: 503,
      retryAfter: "5",
      body: { schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"], status: "503", detail: sentence },
    });
    const enter = ["nsenter", "--target", String(server.pid), "--user", "--preserve-credentials", "--mount"];
    const refusal = await until("a command is refused, too", () => {
      const args = ["teams", "create", "--name", Bun.randomUUIDv7()];
      const command = Bun.spawnSync([...enter, parley, ...args, "--data-dir", place.path]);
      return command.exitCode !== 0 && { status: command.exitCode, stderr: command.stderr.toString() };
    });
    expect(refusal).toEqual({ status: 1, stderr: `error: ${sentence}\n` });

    rmSync(ballast);
    // Nobody posts meanwhile.
    await until("it is well again", async () => (await health(server)).status === 200);
    await server.logLine(({ msg, of }) => msg === "database.trouble_over" && of === "writes");
    await post();
    const pages = await Promise.all(
      Array.from({ length: Math.ceil((taken.size + 10) / 50) }, (_, page) =>
        client.get<{ data: Array<{ id: string }> }>(`${messages}?page=${page + 1}&per_page=50`),
      ),
    );
    const kept = new Set(pages.flatMap(({ json }) => json.data.map(({ id }) => id)));
    expect([...taken].filter((id) => !kept.has(id))).toEqual([]);
    await until("every event has come", () => {
      const come = new Set(
        receiver.requests.map(({ text }) => (JSON.parse(text) as { data: { id: string } }).data.id),
      );
      return [...taken].every((id) => come.has(id));
    });

    expect(await server.stop()).toBe(0);
    const failures = linesOf(server).filter(({ level }) => level >= 40);
    const bySecond = Map.groupBy(failures, ({ time }) => time.slice(0, 19));
    expect(Math.max(...[...bySecond.values()].map((lines) => lines.length))).toBeLessThanOrEqual(10);
    expect(failures.filter(({ msg, of }) => msg === "database.trouble" && of === "writes")).toHaveLength(1);
    // Every refusal is written or counted.
    const written = failures.filter(({ msg }) => msg === "request.failed").length;
    const counted = failures
      .filter(({ msg, of }) => msg === "log.repeats_left_out" && of === "request.failed")
      .reduce((sum, { lines = 0 }) => sum + lines, 0);
    expect(written + counted).toBeGreaterThanOrEqual(refused.length);
  }, 60_000);
});
