import { describe, expect, test } from "bun:test";
import { allRoutes } from "../../src/all-routes.ts";
import { readConfig } from "../../src/config.ts";
import { stubContext } from "../../src/openapi/stub-context.ts";
import { openApiDocument } from "../../src/openapi/openapi.ts";
import { startServer } from "../support/server.ts";

const document = await openApiDocument();
const documented = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.keys(item).map((method) => ({ method: method.toUpperCase(), path })),
);

/** What the server answers besides the API: how it is, the document, and the pages beside it. */
const beside = [
  "GET /healthz",
  "GET /livez",
  "GET /readyz",
  "GET /api/v1/openapi.json",
  "GET /api/v1/docs",
  "GET /api/v1/docs/swagger-ui-bundle.js",
  "GET /api/v1/docs/swagger-ui.css",
  "GET /api/v1/docs/start.js",
  "GET /api/v1/docs/page.css",
  "GET /api/v1/docs/webhooks",
  "GET /api/v1/docs/webhooks.js",
  "GET /api/v1/docs/webhooks.css",
  "GET /api/v1/docs/check-signature.js",
  "GET /api/v1/docs/common-changes.js",
  "GET /api/v1/docs/hmac-sha256.js",
  "POST /webhooks/incoming/{token}/{sender}",
  "POST /webhooks/incoming/{token}/discord/{version}/webhooks/{id}/{key}",
  "GET /",
];

describe("the routes and the document", () => {
  test("are the same, except the few paths outside of the API", () => {
    const { routes } = allRoutes(stubContext(), readConfig("/nonexistent", {}));
    const served = routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
    const described = documented.map(({ method, path }) => `${method} ${path}`);
    expect(served.sort()).toEqual([...described, ...beside].sort());
  });

  test("agree on the methods of every path, none of which works without its credential", async () => {
    await using server = await startServer();
    for (const [path, item] of Object.entries(document.paths)) {
      const address = server.url + path.replaceAll(/\{\w+\}/g, "0");
      const methods = Object.keys(item).flatMap((method) =>
        method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()],
      );
      const options = await fetch(address, { method: "OPTIONS" });
      expect(options.headers.get("Allow"), path).toBe(methods.sort().join(", "));

      for (const [method, { security }] of Object.entries(item)) {
        const { status } = await fetch(address, { method: method.toUpperCase() });
        // An incoming webhook's credential is in its address, and there is no webhook of that one.
        expect(status, `${method} ${path}`).toBe(security.length > 0 ? 401 : 404);
      }
    }
  });

  test("vanish together when the integrations are switched off", async () => {
    await using server = await startServer({ environment: { INTEGRATIONS_ENABLED: "false" } });
    const addresses = [
      ...documented.map(({ path }) => path),
      ...beside.slice(3).map((route) => route.slice(route.indexOf("/"))),
    ].map((path) => path.replaceAll(/\{\w+\}/g, "0"));
    for (const address of new Set(addresses)) {
      const response = await fetch(server.url + address);
      expect(response.status, address).toBe(404);
      expect(await response.json(), address).toEqual({ message: expect.any(String) });
    }
  });
});
