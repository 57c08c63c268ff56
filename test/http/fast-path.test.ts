import { describe, expect, test } from "bun:test";
import { Elysia, t } from "elysia";
import { DomainError, invalid } from "../../src/errors.ts";
import { parameterContract } from "../../src/http/contract.ts";
import { fastPaths } from "../../src/http/fast-path.ts";
import { elysiaErrorResponse } from "../../src/http/error-responses.ts";

const greeting = new Elysia({ name: "greeting" }).macro({
  greets: (name: string) => ({
    resolve: async ({ request, set }) => {
      if (request.headers.get("authorization") === null) {
        throw new DomainError("unauthenticated", "Who are you?", {
          headers: { "www-authenticate": "Bearer" },
        });
      }
      set.headers["x-ratelimit-limit"] = "10";
      return { greeting: `Hello, ${name}.` };
    },
  }),
});

const routes = new Elysia({ prefix: "/rooms", normalize: false })
  .onError(({ error, request, set }) => elysiaErrorResponse(error, request, set.headers))
  .use(greeting)
  .post("/:room/made", ({ greeting: said, params, status }) => status(201, { said, room: params.room }), {
    greets: "Ada",
    parse: "none",
  })
  .post("/:room/plain", ({ params }) => ({ room: params.room }), { parse: "none" })
  .post("/:room/empty", ({ status }) => status(204, undefined), { parse: "none" })
  .post("/:room/own", () => new Response(null, { status: 202 }), { greets: "Ada", parse: "none" })
  .post("/:room/refused", () => Promise.reject(invalid({ name: ["The name field is required."] })), {
    parse: "none",
  })
  .post(
    "/:room/broken",
    () => {
      throw new Error("out of order");
    },
    { parse: "none" },
  )
  .get("/:room/asked", ({ query }) => query, {
    greets: "Ada",
    parse: "none",
    query: parameterContract(t.Object({ page: t.Optional(t.String()) })),
  })
  .get("/:room", ({ query }) => query);

const direct = fastPaths(routes.routes);

async function shown(response: Response) {
  const headers = Object.fromEntries(response.headers);
  return { status: response.status, headers, body: await response.text() };
}

test.each(["made", "plain", "empty", "own", "refused", "broken"])(
  "a fast path gives the same response as the framework: %s",
  async (name) => {
    const answer = direct.get(`POST /rooms/:room/${name}`);
    for (const room of ["1", "a%20b", "%E2%9C%93"]) {
      for (const headers of [{}, { authorization: "Bearer x" }]) {
        const path = `/rooms/${room}/${name}`;
        const request = () => new Request(`http://localhost${path}`, { method: "POST", headers });
        const given = await answer?.(request(), path.split("/"), {});
        expect(given).toBeDefined();
        expect(await shown(given as Response)).toEqual(await shown(await routes.fetch(request())));
      }
    }
  },
);

test.each([
  "",
  "?",
  "?page=2",
  "?page=1&page=2",
  "?page",
  "?=2",
  "?page=a%20+b%E2%9C%93&b=%zz",
  "?__proto__=1&&x=[1]",
])("a fast path reads the query as the framework does: %s", async (query) => {
  const headers = { authorization: "Bearer x" };
  const request = () => new Request(`http://localhost/rooms/1/asked${query}`, { headers });
  const given = await direct.get("GET /rooms/:room/asked")?.(request(), ["", "rooms", "1", "asked"], {});
  expect(await shown(given as Response)).toEqual(await shown(await routes.fetch(request())));
});

test("a response of a fast path carries the headers of every response", async () => {
  const request = new Request("http://localhost/rooms/1/empty", { method: "POST" });
  const answer = await direct.get("POST /rooms/:room/empty")?.(request, ["", "rooms", "1", "empty"], {
    "x-request-id": "7",
  });
  expect(answer?.headers.get("x-request-id")).toBe("7");
});

test("a route that takes its query from the framework gets no fast path", () => {
  expect([...direct.keys()].sort()).toEqual([
    "GET /rooms/:room/asked",
    ...["broken", "empty", "made", "own", "plain", "refused"].map((name) => `POST /rooms/:room/${name}`),
  ]);
});

describe("a route that reads its own body, but needs more of the framework, stops the start:", () => {
  const own = { parse: "none" } as const;
  const handle = () => ({});
  const app = () => new Elysia();
  test.each([
    [
      "a hook that may respond itself",
      app().post("/", handle, { ...own, beforeHandle: () => {} }),
      "resolve",
    ],
    ["a hook after the handler", app().post("/", handle, { ...own, afterHandle: () => {} }), "afterHandle"],
    ["a hook before validation", app().post("/", handle, { ...own, transform: () => {} }), "transform"],
    ["a second parser", app().post("/", handle, { parse: ["none", "json"] }), "nothing else parses"],
    ["a query to validate", app().post("/", handle, { ...own, query: t.Object({}) }), "validate nothing"],
    ["a body to validate", app().post("/", handle, { ...own, body: t.Object({}) }), "validate nothing"],
    [
      "a response to validate",
      app().post("/", handle, { ...own, response: t.Object({}) }),
      "validate nothing",
    ],
    ["a static response", app().post("/", "made", own), "a function"],
  ])("%s", (_what, { routes: registered }, assumption) => {
    expect(() => fastPaths(registered)).toThrow(assumption);
  });
});
