import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { RawConnection, requestText } from "../hostile/raw-connection.ts";
import { readAnswer, type Group, type List, type User } from "../support/scim-client.ts";
import { type ScimStage, scimToken, startScimStage } from "../support/scim-stage.ts";

let stage: ScimStage;

beforeAll(async () => {
  stage = await startScimStage();
});

afterAll(async () => await stage[Symbol.asyncDispose]());

/** One more slash than needed: what a base URL that ends with one leaves, and what Microsoft's collection sends. */
const spellings: Array<[name: string, spelt: (path: string) => string]> = [
  ["a slash at the end", (path) => `${path}/`],
  ["two slashes in front", (path) => `/${path}`],
  ["slashes everywhere", (path) => `//${path.replaceAll("/", "//")}//`],
];

/** The path with the query behind it. */
function withQuery(path: string, query: string): string {
  return query === "" ? path : `${path}?${query}`;
}

describe.each(spellings)("a path with %s means the one without", (_, spelt) => {
  test.each([
    ["/Users", "filter=userName%20eq%20%22Acme%20owner%22"],
    ["/Users", ""],
    ["/Groups", "excludedAttributes=members"],
    ["/Schemas", ""],
    ["/Schemas/urn:ietf:params:scim:schemas:core:2.0:Group", ""],
    ["/ResourceTypes/User", ""],
    ["/ServiceProviderConfig", ""],
  ])("to read: %s?%s", async (path, query) => {
    const plain = await stage.scim.get<List<User>>(withQuery(path, query));
    const { status, json } = await stage.scim.get<List<User>>(withQuery(spelt(path), query));
    expect(status).toBe(200);
    expect(json).toEqual(plain.json);
  });

  test("to create, change and delete a person and a group", async () => {
    const userName = `${Bun.randomUUIDv7()}@example.com`;
    const made = await stage.scim.post<User>(spelt("/Users"), { userName });
    expect(made.status).toBe(201);
    expect(made.headers.get("location")).toBe(`${stage.server.url}/scim/v2/Users/${made.json.id}`);
    const person = spelt(`/Users/${made.json.id}`);
    const rename = { op: "replace", path: "displayName", value: "Renamed" };
    expect((await stage.scim.patch<User>(person, rename)).json.displayName).toBe("Renamed");
    expect((await stage.scim.put<User>(person, { userName, displayName: "Put" })).json.displayName).toBe(
      "Put",
    );
    const group = await stage.scim.post<Group>(spelt("/Groups"), { displayName: userName });
    const value = [{ value: made.json.id }];
    const place = spelt(`/Groups/${group.json.id}`);
    expect((await stage.scim.patch(place, { op: "add", path: "members", value })).status).toBe(204);
    const search = { filter: `members.value eq "${made.json.id}"` };
    const found = await stage.scim.post<List<Group>>(spelt("/Groups/.search"), search);
    expect(found.json.Resources.map(({ id }) => id)).toEqual([group.json.id]);
    expect((await stage.scim.del(place)).status).toBe(204);
    expect((await stage.scim.del(person)).status).toBe(204);
    expect((await stage.scim.get(person)).status).toBe(404);
  });

  test("to list its methods and require a token", async () => {
    const { status, headers } = await stage.scim.send("PATCH", spelt("/Users"), "test");
    expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
    const url = `${stage.server.url}/scim/v2${spelt("/Users")}`;
    expect((await readAnswer("GET", await fetch(url))).status).toBe(401);
    const authorization = `Bearer ${scimToken}`;
    const head = await fetch(url, { method: "HEAD", headers: { authorization } });
    expect(head.status).toBe(200);
    expect((await stage.scim.send("GET", spelt("/Me"))).status).toBe(501);
  });

  test("to refuse a body over 1 MiB, with or without a declared length", async () => {
    const body = JSON.stringify({ userName: "x".repeat(1024 * 1024) });
    expect((await stage.scim.post(spelt("/Users"), body)).status).toBe(413);
    using connection = new RawConnection(stage.server.url);
    const head = [`Authorization: Bearer ${scimToken}`, "Host: a", "Transfer-Encoding: chunked"];
    connection.write(requestText(`POST /scim/v2${spelt("/Users")} HTTP/1.1`, head));
    connection.write(`${body.length.toString(16)}\r\n${body}`);
    const [answer] = await connection.waitForAnswers(1);
    expect(answer?.status).toBe(413);
  });

  test("and the log shows the one without", async () => {
    const { headers } = await stage.scim.get(spelt("/Users"));
    const id = headers.get("x-request-id") ?? "";
    const line = await stage.server.logLine(({ request_id }) => request_id === id);
    expect(line).toMatchObject({ route: "/scim/v2/Users", status: 200 });
  });
});

test("paths outside of the directory are matched to the letter", async () => {
  for (const path of ["/scim//v2/Users", "/scim/v2x//Users", "/healthz/", "/api/v1//channels"]) {
    const response = await fetch(stage.server.url + path, {
      headers: { authorization: `Bearer ${scimToken}` },
    });
    expect(response.status, path).toBe(404);
  }
});
