import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openApiDocument } from "../../src/openapi/openapi.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server[Symbol.asyncDispose]());

const page = "/api/v1/docs";
const assets: ReadonlyArray<[path: string, type: string]> = [
  [`${page}/swagger-ui-bundle.js`, "text/javascript; charset=utf-8"],
  [`${page}/swagger-ui.css`, "text/css; charset=utf-8"],
  [`${page}/start.js`, "text/javascript; charset=utf-8"],
  [`${page}/page.css`, "text/css; charset=utf-8"],
];

describe("the served document", () => {
  test("is the one that the command line prints, and needs no token", async () => {
    const response = await fetch(`${server.url}/api/v1/openapi.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual(JSON.parse(JSON.stringify(await openApiDocument())));
  });

  test("names the server by its public URL if one is set", async () => {
    await using behindProxy = await startServer({
      environment: { PARLEY_BASE_URL: "https://chat.example.com/parley/" },
    });
    const { servers } = (await (await fetch(`${behindProxy.url}/api/v1/openapi.json`)).json()) as {
      servers: unknown;
    };
    expect(servers).toEqual([{ url: "https://chat.example.com/parley" }]);
  });
});

describe("the documentation page", () => {
  test("is where the server's own address leads to", async () => {
    const front = await fetch(server.url, { redirect: "manual" });
    expect([front.status, front.headers.get("location")]).toEqual([302, "api/v1/docs"]);
    expect((await fetch(server.url)).url).toBe(server.url + page);
    const post = await fetch(server.url, { method: "POST", redirect: "manual" });
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  test("is HTML that loads from and connects to this server alone, and cannot be framed", async () => {
    const response = await fetch(server.url + page);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
    const policy = (response.headers.get("content-security-policy") ?? "").split("; ");
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
      ]),
    );
    expect(policy.join()).not.toMatch(/unsafe|https?:/);
    expect(await response.text()).not.toMatch(/https?:\/\//);
  });

  test.each(assets)("serves %s as %s", async (path, type) => {
    const response = await fetch(server.url + path);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(type);
    expect((await response.text()).length).toBeGreaterThan(100);
  });

  test("loads exactly the files that the server serves", async () => {
    const html = await (await fetch(server.url + page)).text();
    const loaded = [...html.matchAll(/<(?:script|link)[^>]* (?:src|href)="(docs\/[^"]+)"/g)].map(
      ([, file]) => `/api/v1/${file}`,
    );
    expect(loaded.sort()).toEqual(assets.map(([path]) => path).sort());
  });

  test.each([page, "/api/v1/openapi.json", `${page}/swagger-ui-bundle.js`])(
    "%s is not sent again to who has it",
    async (path) => {
      const first = await fetch(server.url + path);
      const etag = first.headers.get("etag") ?? "";
      expect(etag).toMatch(/^"\w+"$/);
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const again = await fetch(server.url + path, { headers: { "if-none-match": known } });
        expect(again.status, known).toBe(304);
        expect(await again.text()).toBe("");
        expect(again.headers.get("etag")).toBe(etag);
      }
      expect((await fetch(server.url + path, { headers: { "if-none-match": '"other"' } })).status).toBe(200);
    },
  );
});
