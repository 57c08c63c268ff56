import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { apiClient } from "../support/client.ts";
import { readServedData } from "../support/data-folder.ts";
import { until } from "../support/conditions.ts";
import { startServer } from "../support/server.ts";
import { openWorkspace } from "../support/workspace.ts";
import { readAnswer, type List, scimClient, type User } from "../support/scim-client.ts";
import { type ScimStage, scimToken, startScimStage } from "../support/scim-stage.ts";

let stage: ScimStage;

beforeAll(async () => {
  stage = await startScimStage();
});

afterAll(async () => await stage[Symbol.asyncDispose]());

const routes: Array<[method: string, path: string]> = [
  ["GET", "/ServiceProviderConfig"],
  ["GET", "/ResourceTypes"],
  ["GET", "/ResourceTypes/User"],
  ["GET", "/Schemas"],
  ["GET", "/Schemas/urn:ietf:params:scim:schemas:core:2.0:Group"],
  ["POST", "/.search"],
  ["GET", "/Me"],
  ["POST", "/Bulk"],
  ...["/Users", "/Groups"].flatMap((path): Array<[string, string]> => [
    ["GET", path],
    ["POST", path],
    ["POST", `${path}/.search`],
    ...["GET", "PUT", "PATCH", "DELETE"].map((method): [string, string] => [method, `${path}/0`]),
  ]),
];

describe("without SCIM_TOKEN", () => {
  test("there is no directory, whatever the request", async () => {
    await using server = await startServer({ environment: { SCIM_TOKEN: "" } });
    for (const [method, path] of routes) {
      const headers = { authorization: `Bearer ${scimToken}` };
      const { status } = await fetch(`${server.url}/scim/v2${path}`, { method, headers });
      expect(status, `${method} ${path}`).toBe(404);
    }
  });
});

describe("the token", () => {
  test.each(routes)("is required for %s %s", async (method, path) => {
    const { status, headers } = await scimClient(stage.server.url, undefined).send(method, path);
    expect(status).toBe(401);
    expect(headers.get("www-authenticate")).toMatch(/^Bearer\b/);
  });

  test.each([
    ["another one", "Bearer another"],
    ["the beginning of it", `Bearer ${scimToken.slice(0, -1)}`],
    ["more than it", `Bearer ${scimToken}x`],
    ["it in another case", `Bearer ${scimToken.toUpperCase()}`],
    ["none", "Bearer"],
    ["nothing", ""],
    ["it as a password", `Basic ${btoa(`:${scimToken}`)}`],
    ["it twice", `Bearer ${scimToken}, Bearer ${scimToken}`],
    ["a very long one", `Bearer ${"x".repeat(8_000)}`],
  ])("is not %s, and every wrong one gets the same response", async (_, authorization) => {
    const response = await fetch(`${stage.server.url}/scim/v2/Users`, { headers: { authorization } });
    const { status, json } = await readAnswer<{ detail: string }>("GET /Users", response);
    expect({ status, detail: json.detail }).toEqual({
      status: 401,
      detail: "Send a valid token as Authorization: Bearer <ACCESS_TOKEN>.",
    });
  });

  test("is not read from the URL", async () => {
    const query = `access_token=${scimToken}&token=${scimToken}`;
    const { status } = await scimClient(stage.server.url, undefined).get(`/Users?${query}`);
    expect(status).toBe(401);
  });

  test("is accepted in any case of its scheme", async () => {
    const headers = { authorization: `bearer ${scimToken}` };
    expect((await fetch(`${stage.server.url}/scim/v2/Users`, { headers })).status).toBe(200);
  });

  test("gives no access to the API, nor does an API token to the directory", async () => {
    expect((await apiClient(stage.server.url, scimToken).get("/channels")).status).toBe(401);
    const { token } = await stage.workspace.token(stage.owner);
    expect((await scimClient(stage.server.url, token).get("/Users")).status).toBe(401);
  });

  test("stops the start, without being shown, when no header can carry it", async () => {
    for (const token of ["two words", "one,two", "schlüssel", "line\nend"]) {
      const start = await startServer({ environment: { SCIM_TOKEN: token } }).catch(
        (error: unknown) => error,
      );
      expect(String(start)).toContain("SCIM_TOKEN");
      expect(String(start)).not.toContain(token);
    }
  });

  test("is in no response, no file and no log line", async () => {
    await stage.user("written@example.com");
    expect(stage.server.logLines().join("\n")).not.toContain(scimToken);
    for (const [name, content] of await readServedData(stage.server.dataDir)) {
      expect(content.includes(scimToken), name).toBe(false);
    }
    const { json } = await stage.scim.get<object>("/ServiceProviderConfig");
    expect(JSON.stringify(json)).not.toContain(scimToken);
  });
});

describe("a token short enough to be guessed", () => {
  test("works, and every start warns of it with the remedy", async () => {
    await using server = await startServer({ environment: { SCIM_TOKEN: "x".repeat(31) } });
    await using workspace = await openWorkspace(server.dataDir);
    await workspace.team("Acme");
    const warnings = () => server.logLines().filter((line) => line.includes("scim.token_too_short"));
    await server.restart();
    expect((await scimClient(server.url, "x".repeat(31)).list("/Users")).totalResults).toBe(1);
    await until("both starts have warned", () => warnings().length === 2);
    for (const line of warnings()) {
      expect(JSON.parse(line)).toMatchObject({ level: 40, reason: expect.stringContaining("openssl rand") });
      expect(line).not.toContain("xx");
    }
  });

  test("has fewer than 32 characters", async () => {
    await using server = await startServer({ environment: { SCIM_TOKEN: "x".repeat(32) } });
    await server.logLine(({ msg }) => msg === "server.started");
    expect(server.logLines().join("\n")).not.toContain("scim.token_too_short");
  });
});

describe("the paths of the directory", () => {
  test.each([
    ["POST", "/ServiceProviderConfig", "GET, HEAD"],
    ["PUT", "/Schemas", "GET, HEAD"],
    ["DELETE", "/ResourceTypes", "GET, HEAD"],
    ["PATCH", "/Users", "GET, HEAD, POST"],
    ["POST", "/Users/1", "DELETE, GET, HEAD, PATCH, PUT"],
    ["PUT", "/.search", "POST"],
  ])("refuse %s %s before reading a body, and list their methods", async (method, path, allow) => {
    const { status, headers } = await stage.scim.send(method, path, "test");
    expect(status).toBe(405);
    expect(headers.get("allow")).toBe(allow);
  });

  test.each([
    "",
    "/",
    "//",
    "/Devices",
    "/Users/1/2",
    "/Users//1//2/",
    "/users",
    "/Users%2f",
    "/%zz",
    "/%zz/",
  ])("that do not exist, such as %j, are 404 in SCIM's form", async (path) => {
    expect((await stage.scim.get(path)).status).toBe(404);
  });

  test("next to them have the API's form", async () => {
    const response = await fetch(`${stage.server.url}/scim/v20/Users`);
    expect(response.status).toBe(404);
    expect(Object.keys((await response.json()) as object)).toEqual(["message"]);
    const refusal = await apiClient(stage.server.url).get("/channels");
    expect(refusal.status).toBe(401);
    const wrongType = await fetch(`${stage.server.url}/api/v1/nowhere`);
    expect(wrongType.headers.get("content-type")).toMatch(/^application\/json/);
  });

  test("for oneself and for bulk are not supported", async () => {
    for (const path of ["/Me", "/Bulk"]) {
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
        expect((await stage.scim.send(method, path)).status, `${method} ${path}`).toBe(501);
      }
    }
  });

  test("work while the integrations are switched off, to which they do not belong", async () => {
    await using server = await startServer({
      environment: { SCIM_TOKEN: scimToken, INTEGRATIONS_ENABLED: "false" },
    });
    await using workspace = await openWorkspace(server.dataDir);
    await workspace.team("Acme");
    expect((await fetch(`${server.url}/api/v1/channels`)).status).toBe(404);
    expect((await scimClient(server.url, scimToken).list("/Users")).totalResults).toBe(1);
  });
});

describe("discovery", () => {
  test("says what the server supports", async () => {
    const { json } = await stage.scim.get<Record<string, { supported?: boolean }>>("/ServiceProviderConfig");
    const supported = Object.entries(json)
      .filter(([, value]) => value.supported)
      .map(([name]) => name);
    expect(supported.sort()).toEqual(["filter", "patch", "sort"]);
  });

  test("describes every attribute of the resources", async () => {
    const { json } =
      await stage.scim.get<List<{ id: string; attributes: Array<{ name: string }> }>>("/Schemas");
    const common = ["schemas", "id", "externalId", "meta"];
    await stage.user("described@example.com", { name: { formatted: "De Scribed" }, externalId: "d" });
    await stage.group("Described");
    for (const [path, index] of [
      ["/Users", 0],
      ["/Groups", 1],
    ] as const) {
      const described = json.Resources[index]?.attributes.map(({ name }) => name) ?? [];
      for (const resource of (await stage.scim.list<User>(path)).Resources) {
        const unknown = Object.keys(resource).filter((name) => ![...common, ...described].includes(name));
        expect(unknown).toEqual([]);
      }
    }
  });

  test("describes the sub-attributes of a member as immutable: members come and go, and none becomes another", async () => {
    type Described = { name: string; mutability: string; subAttributes?: Described[] };
    const { json } = await stage.scim.get<{ attributes: Described[] }>(
      "/Schemas/urn:ietf:params:scim:schemas:core:2.0:Group",
    );
    const members = json.attributes.find(({ name }) => name === "members");
    expect(members?.mutability).toBe("readWrite");
    expect(members?.subAttributes?.map(({ name, mutability }) => [name, mutability])).toEqual([
      ["value", "immutable"],
      ["$ref", "immutable"],
      ["display", "readOnly"],
      ["type", "immutable"],
    ]);
  });

  test("is found by id", async () => {
    for (const list of ["/Schemas", "/ResourceTypes"]) {
      const { Resources } = await stage.scim.list<{ id: string }>(list);
      expect(Resources).toHaveLength(2);
      for (const resource of Resources) {
        expect((await stage.scim.get<object>(`${list}/${resource.id}`)).json).toEqual(resource);
      }
      expect((await stage.scim.get(`${list}/urn:example:nothing`)).status).toBe(404);
    }
  });
});

describe("the team of the directory", () => {
  test("is the one in SCIM_TEAM when there are several, and other teams are invisible", async () => {
    await using server = await startServer({ environment: { SCIM_TOKEN: scimToken, SCIM_TEAM: "umbrella" } });
    await using workspace = await openWorkspace(server.dataDir);
    const scim = scimClient(server.url, scimToken);
    expect((await scim.get("/Users")).status).toBe(503);
    const acme = await workspace.team("Acme");
    expect((await scim.get("/Users")).status).toBe(503);
    await workspace.team("Umbrella");
    const { Resources } = await scim.list("/Users");
    expect(Resources.map(({ userName }) => userName)).toEqual(["Umbrella owner"]);
    expect((await scim.get(`/Users/${acme.owner.id}`)).status).toBe(404);
    expect((await scim.del(`/Users/${acme.owner.id}`)).status).toBe(404);
  });

  test("must be set at startup when it is ambiguous", async () => {
    await using server = await startServer({ environment: { SCIM_TOKEN: scimToken } });
    await using workspace = await openWorkspace(server.dataDir);
    await workspace.team("Acme");
    await workspace.team("Umbrella");
    const { status, json } = await scimClient(server.url, scimToken).get("/Users");
    expect(status).toBe(503);
    expect(json.detail).toContain("SCIM_TEAM");
    const start = await server.restart().catch((error: unknown) => error);
    expect(String(start)).toContain("SCIM_TEAM");
  });
});
