import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { userResourceType } from "../../src/scim/protocol/attributes.ts";
import { Document } from "../../src/scim/protocol/document.ts";
import { parseFilter } from "../../src/scim/protocol/filter.ts";
import { operationsOf, operationsOfObject, apply } from "../../src/scim/protocol/patch.ts";
import { expectNoFaults } from "../hostile/server-log.ts";
import { readAnswer, type Refusal, scimClient, type User } from "../support/scim-client.ts";
import { type ScimStage, scimToken, startScimStage } from "../support/scim-stage.ts";

let stage: ScimStage;
let user: User;

beforeAll(async () => {
  stage = await startScimStage();
  user = await stage.user("victim@example.com", {
    displayName: "Victim",
    emails: [{ value: "victim@example.com", type: "work", primary: true }],
  });
});

// Whatever the attacks were, the server's log holds no fault and the person is who it was.
afterAll(async () => {
  await expectNoFaults(stage.server);
  const { json } = await stage.scim.get<User>(`/Users/${user.id}`);
  expect({ ...json, meta: user.meta }).toEqual(user);
  await stage[Symbol.asyncDispose]();
});

const paths = [
  "__proto__",
  "__proto__.x",
  "constructor",
  "constructor.prototype.x",
  "prototype.x",
  "name.__proto__",
  "emails.__proto__",
  'emails[type eq "work"].__proto__',
  'emails[type eq "work"].__proto__.x',
  'emails[type eq "work"].constructor.prototype.x',
  'emails[__proto__ eq "work"].value',
  'emails[constructor eq "work"]',
  "urn:ietf:params:scim:schemas:core:2.0:User:__proto__",
];

const polluting = JSON.stringify({ x: "polluted", prototype: { x: "polluted" } });

describe("a name that would reach the prototype of all objects", () => {
  test.each(["add", "replace", "remove"].flatMap((op) => paths.map((path) => [op, path])))(
    "is refused as a path: %s %s",
    async (op, path) => {
      const { status, json } = await stage.scim.patch<Refusal>(`/Users/${user.id}`, {
        op,
        path,
        ...(op !== "remove" && { value: JSON.parse(polluting) as object }),
      });
      expect(status).toBe(400);
      expect(["invalidPath", "invalidFilter"]).toContain(json.scimType ?? "");
    },
  );

  test.each([
    ["the body of a new person", "POST", "/Users", `{"userName":"p1","__proto__":${polluting}}`],
    [
      "a name",
      "PUT",
      "/Users/ID",
      `{"userName":"victim@example.com","name":{"__proto__":${polluting}},"x":1}`,
    ],
    ["the body of a group", "POST", "/Groups", `{"displayName":"p3","constructor":${polluting}}`],
    [
      "a value without a path",
      "PATCH",
      "/Users/ID",
      `{"Operations":[{"op":"add","value":{"__proto__":${polluting}}}]}`,
    ],
    ["a search", "POST", "/Users/.search", `{"__proto__":{"filter":"nonsense"},"count":1}`],
  ])("does nothing as a key of %s", async (_, method, path, body) => {
    const { status } = await stage.scim.send(method, path.replace("ID", user.id), body);
    expect(status).toBeLessThan(500);
    await stage.scim.put(`/Users/${user.id}`, user);
  });

  test("leaves every object as it is", () => {
    const value = JSON.parse(polluting) as object;
    const document = new Document();
    const attempts = [
      ...paths.map((path) => () => {
        for (const step of operationsOf(userResourceType, { Operations: [{ op: "add", path, value }] }))
          apply(document, step);
      }),
      () => {
        const body = JSON.parse(
          `{"__proto__":${polluting},"emails":[{"value":"a","__proto__":${polluting}}]}`,
        );
        for (const step of operationsOfObject(userResourceType, "add", body as object)) apply(document, step);
      },
      () => parseFilter(userResourceType, '__proto__.x eq "polluted"'),
    ];
    for (const attempt of attempts) expect(attempt).toThrow();
    expect(({} as { x?: unknown }).x).toBeUndefined();
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});

describe("input over a limit", () => {
  test.each([
    ["brackets", "(".repeat(20_000)],
    ["brackets that are closed", `${"(".repeat(1_900)}id pr${")".repeat(1_900)}`],
    ["contraries", `${"not (".repeat(700)}id pr${")".repeat(700)}`],
    ["alternatives", Array.from({ length: 10_000 }, () => "id pr").join(" or ")],
    ["text", `userName eq "${"x".repeat(5_000)}"`],
    ["text without an end", `userName eq "${"\\\\".repeat(1_900)}`],
    ["blanks", `userName${" ".repeat(50_000)}eq "x"`],
  ])("is refused in a filter: %s", async (_, filter) => {
    const { status, json } = await stage.scim.post<Refusal>("/Users/.search", { filter });
    expect({ status, scimType: json.scimType }).toEqual({ status: 400, scimType: "invalidFilter" });
    const path = { op: "remove", path: `emails[${filter}]` };
    const patched = await stage.scim.patch<Refusal>(`/Users/${user.id}`, path);
    expect(patched.status).toBe(400);
  });

  test("is accepted in a filter up to the limit", async () => {
    const filter = Array.from({ length: 400 }, () => "id pr").join(" or ");
    expect((await stage.scim.list("/Users", { filter })).totalResults).toBeGreaterThan(1);
    const nested = `${"(".repeat(15)}id pr${")".repeat(15)}`;
    expect((await stage.scim.list("/Users", { filter: nested })).totalResults).toBeGreaterThan(1);
  });

  test("is refused in a URL", async () => {
    const filter = `userName eq "${"x".repeat(10_000)}"`;
    expect((await stage.scim.get(`/Users?filter=${encodeURIComponent(filter)}`)).status).toBe(400);
    expect((await stage.scim.get(`/Users/${"9".repeat(10_000)}`)).status).toBe(404);
  });

  test("is refused in a patch: 10,000 operations", async () => {
    const operation = { op: "replace", path: "displayName", value: "x" };
    const { status, json } = await stage.scim.patch<Refusal>(
      `/Users/${user.id}`,
      ...Array.from({ length: 10_000 }, () => operation),
    );
    expect({ status, scimType: json.scimType }).toEqual({ status: 400, scimType: "tooMany" });
  });

  test("is refused in a list: 51 addresses", async () => {
    const emails = Array.from({ length: 51 }, (_, n) => ({ value: `${n}@example.com` }));
    const { status, json } = await stage.scim.post<Refusal>("/Users", { userName: "many", emails });
    expect({ status, scimType: json.scimType }).toEqual({ status: 400, scimType: "invalidValue" });
  });

  test("is refused in a body: one byte over a MiB, and a MiB is read", async () => {
    const size = 1024 * 1024;
    const frame = (text: string) => `{"userName":"${text}"}`;
    const full = frame("x".repeat(size - frame("").length));
    expect((await stage.scim.post<Refusal>("/Users", full)).json.scimType).toBe("invalidValue");
    expect((await stage.scim.post("/Users", `${full} `)).status).toBe(413);
    const deep = `{"userName":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    expect((await stage.scim.post<Refusal>("/Users", deep)).json.scimType).toBe("invalidSyntax");
  });
});

describe("a body", () => {
  test.each([
    "",
    " ",
    "null",
    "1",
    '"x"',
    "[]",
    "test",
    '{"userName":',
    '{"userName":"a"}{}',
    "\ufeff{}",
    new Uint8Array([0x7b, 0xff, 0x7d]),
  ])("that is not a JSON object is refused: %j", async (body) => {
    for (const [method, path] of [
      ["POST", "/Users"],
      ["PATCH", `/Users/${user.id}`],
      ["PUT", `/Users/${user.id}`],
      ["POST", "/Users/.search"],
      ["POST", "/Groups"],
    ] as const) {
      const { status, json } = await stage.scim.send(method, path, body);
      expect({ status, scimType: json.scimType }).toEqual({ status: 400, scimType: "invalidSyntax" });
    }
  });

  test.each([
    "application/scim+json",
    "application/scim+json; charset=utf-8",
    "application/json",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "nonsense",
    "",
  ])("is accepted under the content type %j", async (contentType) => {
    const scim = scimClient(stage.server.url, scimToken, contentType);
    const { status } = await scim.post("/Users", { userName: `typed as ${contentType}` });
    expect(status).toBe(201);
  });

  test("is accepted without a content type", async () => {
    const response = await fetch(`${stage.server.url}/scim/v2/Users`, {
      method: "POST",
      headers: { authorization: `Bearer ${scimToken}` },
      body: new Uint8Array(Buffer.from('{"userName":"untyped"}')),
    });
    expect((await readAnswer("POST /Users", response)).status).toBe(201);
  });

  test("that is compressed is refused", async () => {
    const { status } = await stage.scim.send("POST", "/Users", Bun.gzipSync("{}"), {
      "content-encoding": "gzip",
    });
    expect(status).toBe(415);
  });

  test.each([
    ["a NUL", "a\0b"],
    ["half of a surrogate pair", "a\ud800"],
    ["a control character", "a\u0007"],
    ["a line separator", "a\u2028b"],
    ["a mark that turns the reading direction", "a\u202eb"],
    ["256 characters", "x".repeat(256)],
  ])("with %s in a name is refused", async (_, name) => {
    for (const body of [{ userName: name }, { userName: "hostile", displayName: name }]) {
      const { status, json } = await stage.scim.post("/Users", body);
      expect({ status, scimType: json.scimType }).toEqual({ status: 400, scimType: "invalidValue" });
    }
    const group = await stage.scim.post("/Groups", { displayName: name });
    expect(group.status).toBe(400);
  });

  test("stores names as sent: quotes, markup, other scripts, SQL", async () => {
    for (const name of [
      "O'Neil; DROP TABLE users --",
      "<b>Bo</b>",
      "日本語",
      "İi ß 𝔘",
      '"quoted" \\ 100%_',
    ]) {
      const made = await stage.user(name, { displayName: name });
      expect({ userName: made.userName, displayName: made.displayName }).toEqual({
        userName: name,
        displayName: name,
      });
      const filter = `userName eq ${JSON.stringify(name)}`;
      expect((await stage.scim.list("/Users", { filter })).Resources.map(({ id }) => id)).toEqual([made.id]);
    }
  });
});

describe("an id", () => {
  test.each(["1 OR 1", "%00", "%F0%9F%98%80", "../Groups", "null", "undefined", "x".repeat(500), "%25"])(
    "that is invalid is 404: %j",
    async (id) => {
      for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
        const body = method === "GET" ? undefined : { userName: "x", Operations: [{ op: "add", value: {} }] };
        const { status } = await stage.scim.send(method, `/Users/${encodeURIComponent(id)}`, body);
        expect(status, method).toBe(404);
      }
    },
  );
});
