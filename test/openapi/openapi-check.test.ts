import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ApiClient } from "../support/client.ts";
import { checkAgainstDocument } from "../support/openapi-check.ts";
import { type Stage, startStage } from "../support/stage.ts";

// A check that passes everything would let every other test pass too, so here it has to refuse.

let stage: Stage;
let member: ApiClient;

beforeAll(async () => {
  stage = await startStage();
  member = await stage.as(stage.cast.member);
});

afterAll(() => stage[Symbol.asyncDispose]());

/** Asks the server and returns how the check judges its answer after `change`. */
async function judge(
  method: string,
  path: string,
  body: object | undefined,
  change: (answer: { status: number; headers: Headers; json: unknown }) => void = () => {},
): Promise<() => void> {
  const answer = await member.send<unknown>(method, path, body);
  change(answer);
  return () => checkAgainstDocument(method, `/api/v1${path}`, answer.status, answer.headers, answer.json);
}

describe("a response that the document describes passes", () => {
  test.each([
    ["GET", "/channels", undefined],
    ["POST", "/channels", { name: "checked", visibility: "private" }],
    ["POST", "/channels", { name: "" }],
    ["GET", "/channels/0", undefined],
    ["HEAD", "/channels", undefined],
    ["PATCH", "/channels", undefined],
    ["OPTIONS", "/channels", undefined],
    ["GET", "/nowhere", undefined],
    ["GET", "/openapi.json", undefined],
  ])("%s %s", async (method, path, body) => {
    expect(await judge(method, path, body)).not.toThrow();
  });
});

describe("a response that the document does not describe fails", () => {
  type Listed = { data: Array<Record<string, unknown>> };
  const first = (json: unknown) => (json as Listed).data[0] ?? {};

  test("for its status", async () => {
    const judged = await judge("GET", "/channels", undefined, (answer) => (answer.status = 202));
    expect(judged).toThrow("listChannels does not answer 202");
  });

  test("for a missing field", async () => {
    const judged = await judge("GET", "/channels", undefined, ({ json }) => delete first(json).topic);
    expect(judged).toThrow("must have required property 'topic'");
  });

  test("for an unknown field", async () => {
    const judged = await judge("GET", "/channels", undefined, ({ json }) => (first(json).token = "x"));
    expect(judged).toThrow("must NOT have additional properties");
  });

  test("for a value of another type or form", async () => {
    const asText = await judge("GET", "/channels", undefined, ({ json }) => (first(json).is_general = "no"));
    expect(asText).toThrow("must be boolean");
    const asDay = await judge(
      "GET",
      "/channels",
      undefined,
      ({ json }) => (first(json).created_at = "2026-11-20"),
    );
    expect(asDay).toThrow('must match format "date-time"');
  });

  test("for a body where there is none", async () => {
    const path = `/channels/${stage.cast.open.id}/messages/0/reactions/x`;
    const judged = await judge("PUT", path, undefined, (answer) => (answer.status = 204));
    expect(judged).toThrow("there is a body");
  });

  test("for a missing header", async () => {
    const judged = await judge("GET", "/channels", undefined, ({ headers }) =>
      headers.delete("X-RateLimit-Reset"),
    );
    expect(judged).toThrow("the header X-RateLimit-Reset is missing");
  });

  test("for an unknown path or method", async () => {
    expect(await judge("GET", "/nowhere", undefined, (answer) => (answer.status = 200))).toThrow(
      "no such address",
    );
    const wrongMethods = await judge("PATCH", "/channels", undefined, ({ headers }) =>
      headers.set("Allow", "GET"),
    );
    expect(wrongMethods).toThrow("Allow is GET and not GET, HEAD, POST");
  });
});
