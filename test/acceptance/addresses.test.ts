import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type ApiClient, apiClient, readAnswer } from "../support/client.ts";
import { addressOf, bodyOf, restRoutes } from "../support/rest-routes.ts";
import type { TestServer } from "../support/server.ts";
import { type Stage, startStage } from "../support/stage.ts";

let stage: Stage;
let admin: ApiClient;

beforeAll(async () => {
  stage = await startStage();
  admin = await stage.as(stage.cast.admin);
});

afterAll(() => stage[Symbol.asyncDispose]());

/** Asks the server for an address that need not be under `/api/v1`. */
async function ask(server: TestServer, method: string, path: string, body?: string) {
  const response = await fetch(server.url + path, { method, body: body ?? null });
  return await readAnswer(`${method} ${path}`, response);
}

describe("an address that does not exist", () => {
  test.each(["", "/", "/channel", "/channels//messages", "/Channels", "/channels/x/y", "/webhook"])(
    "answers 404 in JSON under /api/v1: %p",
    async (path) => {
      expect((await admin.get(path)).status).toBe(404);
    },
  );

  test.each(["/api", "/api/v2/channels", "/index.html", "/healthz/x"])(
    "answers 404 in JSON elsewhere: %p",
    async (path) => {
      expect((await ask(stage.server, "GET", path)).status).toBe(404);
    },
  );
});

describe("a method that an address does not take", () => {
  test.each([
    ["PUT", "/channels", "GET, HEAD, POST"],
    ["DELETE", "/channels", "GET, HEAD, POST"],
    ["PATCH", "/channels/{channel}", "GET, HEAD"],
    ["GET", "/channels/{channel}/archive", "POST"],
    ["PUT", "/channels/{channel}/messages/{message}", "DELETE, GET, HEAD, PATCH"],
    ["POST", "/channels/{channel}/messages/{message}/reactions/x", "DELETE, PUT"],
    ["GET", "/channels/{channel}/members/{user}", "DELETE"],
  ])("answers 405 and names those that it does: %s %s", async (method, path, allowed) => {
    const id = Bun.randomUUIDv7();
    const answer = await admin.send(method, path.replace(/\{\w+\}/g, id));
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")?.split(", ").sort().join(", ")).toBe(allowed);
  });
});

describe("a server with INTEGRATIONS_ENABLED=false", () => {
  let off: Stage;
  beforeAll(async () => {
    off = await startStage({ INTEGRATIONS_ENABLED: "false" });
  });
  afterAll(() => off[Symbol.asyncDispose]());

  test.each(restRoutes)(
    "answers 404 to $method $path, with a valid token, a wrong one and none",
    async (route) => {
      const { cast, workspace, server } = off;
      const { id: message } = await workspace.message(cast.secret, cast.bot);
      const parameters = { channel: cast.secret.id, message, user: cast.member.id, emoji: "👍" };
      const { token } = await workspace.token(cast.bot);
      for (const given of [token, "wrong", undefined]) {
        const client = apiClient(server.url, given);
        const { status } = await client.send(
          route.method,
          addressOf(route, parameters),
          bodyOf(route, parameters),
        );
        expect(status).toBe(404);
      }
    },
  );

  test("answers 404 to incoming webhooks and to methods that an address would not take", async () => {
    expect((await ask(off.server, "POST", "/webhooks/incoming/token", '{"text":"hello"}')).status).toBe(404);
    expect((await ask(off.server, "PUT", "/api/v1/channels")).status).toBe(404);
    expect((await ask(off.server, "GET", "/api/v1/webhooks")).status).toBe(404);
  });

  test("is healthy all the same", async () => {
    expect((await ask(off.server, "GET", "/healthz")).status).toBe(200);
  });
});

describe("the health check", () => {
  test("answers 200 without a token", async () => {
    const { status, json } = await ask(stage.server, "GET", "/healthz");
    expect([status, json as unknown]).toEqual([200, { status: "ok" }]);
  });
});

describe("the token", () => {
  test("is taken whatever the case of the scheme", async () => {
    const { token } = await stage.workspace.token(stage.cast.bot);
    const anonymous = apiClient(stage.server.url);
    for (const authorization of [`Bearer ${token}`, `bearer ${token}`, `BEARER ${token}`]) {
      expect((await anonymous.get("/channels", { authorization })).status).toBe(200);
    }
  });

  test("is refused in any other shape, and nowhere but in its header", async () => {
    const { token } = await stage.workspace.token(stage.cast.bot);
    const anonymous = apiClient(stage.server.url);
    const shapes = [
      token,
      `Token ${token}`,
      `Bearer ${token} x`,
      `Bearer ${token}, Bearer ${token}`,
      "Bearer",
      "Bearer ",
    ];
    for (const authorization of [...shapes, `Basic ${btoa(`x:${token}`)}`]) {
      expect((await anonymous.get("/channels", { authorization })).status, authorization).toBe(401);
    }
    for (const name of ["access_token", "token", "bearer"]) {
      expect((await anonymous.get(`/channels?${name}=${token}`)).status).toBe(401);
    }
  });
});

describe("an answer", () => {
  test("has a request id of its own, under which the log tells of it", async () => {
    const first = await admin.get("/channels");
    const second = await admin.get("/channels/nowhere");
    const ids = [first, second].map(({ headers }) => headers.get("x-request-id"));
    expect(ids[0]).not.toBe(ids[1]);
    const line = await stage.server.logLine(({ request_id }) => request_id === ids[1]);
    expect(line).toMatchObject({ method: "GET", route: "/api/v1/channels/:channel", status: 404 });
  });

  test("to HEAD is the one to GET without its body", async () => {
    const { token } = await stage.workspace.token(stage.cast.bot);
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${stage.server.url}/api/v1/channels`, { method: "HEAD", headers });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
  });
});
