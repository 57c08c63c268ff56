import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Channel } from "../../src/channels/schemas.ts";
import type { Message } from "../../src/messages/schemas.ts";
import type { ApiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";

let stage: Stage;
let member: ApiClient;
let messages: string;
beforeAll(async () => {
  stage = await startStage();
  member = await stage.as(stage.cast.member);
  messages = `/channels/${stage.cast.open.id}/messages`;
});
afterAll(() => stage[Symbol.asyncDispose]());

/** Posts a message with these fields, as JSON, beside its body; returns what the answer says was ignored. */
async function ignoredOf(fields: string): Promise<string | null> {
  const { status, headers, json } = await member.post<{ data: Message }>(
    messages,
    `{"body": "still posted"${fields}}`,
  );
  expect([status, json.data.body]).toEqual([201, "still posted"]);
  return headers.get("x-ignored-fields");
}

describe("a message with fields that are not known is posted, and the response", () => {
  test("names them, and none of their values", async () => {
    expect(await ignoredOf(', "blocks": ["secret"], "reply_to": "secret"')).toBe("blocks, reply_to");
  });

  test("has no header for them if there are none", async () => {
    expect(await ignoredOf(', "client_uuid": null, "sent_to_channel": false')).toBeNull();
  });

  test("is the same when the same message is sent again", async () => {
    const clientUuid = `, "client_uuid": "${Bun.randomUUIDv7()}", "blocks": []`;
    expect([await ignoredOf(clientUuid), await ignoredOf(clientUuid)]).toEqual(["blocks", "blocks"]);
  });

  test.each([
    ["a line end", "a\\r\\nSet-Cookie: b=c", "a__Set-Cookie__b_c"],
    ["a comma", "a, b", "a__b"],
    ["letters beyond ASCII", "blöcke", "bl_cke"],
    ["an emoji", "🙂", "_"],
    ["half of an emoji", "\\ud83d", "_"],
    ["NUL", "a\\u0000b", "a_b"],
    ["nothing", "", "_"],
    ["__proto__", "__proto__", "__proto__"],
    ["constructor", "constructor", "constructor"],
    ["an escaped name", "\\u0078", "x"],
  ])("stands as one header for a name with %s", async (_what, name, shown) => {
    expect(await ignoredOf(`, "${name}": 1`)).toBe(shown);
  });

  test("cuts long names and leaves out what is too many", async () => {
    const many = Array.from({ length: 10_000 }, (_, index) => `, "field${index}": 0`).join("");
    const ten = Array.from({ length: 10 }, (_, index) => `field${index}`).join(", ");
    expect(await ignoredOf(many)).toBe(`${ten}, ...`);
    expect(await ignoredOf(`, "${"x".repeat(100_000)}": 0`)).toBe("x".repeat(40));
    const long = Array.from({ length: 20 }, (_, index) => `, "${"é".repeat(500)}${index}": 0`).join("");
    expect((await ignoredOf(long))?.length).toBeLessThan(512);
  });
});

test("what is refused names no ignored fields", async () => {
  const { status, headers } = await member.post(messages, { body: 1, blocks: [] });
  expect([status, headers.get("x-ignored-fields")]).toEqual([422, null]);
});

test("an edit, a new channel and a new member name the fields that were ignored", async () => {
  const posted = await member.post<{ data: Message }>(messages, { body: "to edit" });
  const edited = await member.patch(`${messages}/${posted.json.data.id}`, { body: "edited", text: "x" });
  const made = await member.post<{ data: Channel }>("/channels", {
    name: "with more",
    visibility: "private",
    purpose: "",
  });
  const members = `/channels/${made.json.data.id}/members`;
  const added = await member.post(members, { user_id: stage.cast.owner.id, role: "admin" });
  expect([edited, made, added].map(({ headers }) => headers.get("x-ignored-fields"))).toEqual([
    "text",
    "purpose",
    "role",
  ]);
});
