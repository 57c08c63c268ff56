import { expect, test } from "bun:test";
import { Elysia } from "elysia";
import { DomainError, invalid } from "../../src/errors.ts";
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

test("a response of a fast path carries the headers of every response", async () => {
  const request = new Request("http://localhost/rooms/1/empty", { method: "POST" });
  const answer = await direct.get("POST /rooms/:room/empty")?.(request, ["", "rooms", "1", "empty"], {
    "x-request-id": "7",
  });
  expect(answer?.headers.get("x-request-id")).toBe("7");
});

test("a route that takes its query from the framework gets no fast path", () => {
  expect([...direct.keys()].sort()).toEqual(
    ["broken", "empty", "made", "own", "plain", "refused"].map((name) => `POST /rooms/:room/${name}`),
  );
});
