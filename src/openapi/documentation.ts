import { Elysia } from "elysia";
import bundle from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import styles from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import pageStyles from "./docs-page/page.css" with { type: "file" };
import start from "./docs-page/start.js" with { type: "file" };
import { info } from "./info.ts";

/** A response body and its ETag. */
type Content = { body: Uint8Array<ArrayBuffer>; type: string; etag: string };

const javascript = "text/javascript; charset=utf-8";
const css = "text/css; charset=utf-8";

/** The files of the page by name under `/api/v1/docs/`, embedded in the binary. */
const files = {
  "swagger-ui-bundle.js": { path: bundle, type: javascript },
  "swagger-ui.css": { path: styles, type: css },
  "start.js": { path: start, type: javascript },
  "page.css": { path: pageStyles, type: css },
};

// The page loads nothing from elsewhere, sends nothing elsewhere and cannot be framed. Swagger UI has its icons in
// data: URLs.
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

// The URLs are relative, so that the page also works behind a proxy that serves it under a path prefix.
const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${info.title}</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="docs/swagger-ui.css">
    <link rel="stylesheet" href="docs/page.css">
  </head>
  <body>
    <main id="reference"></main>
    <noscript>This page needs JavaScript. The same document is at <a href="openapi.json">openapi.json</a>.</noscript>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`;

/** `/`, which leads people to the documentation page: relative, for a proxy that serves it under a path prefix. */
export function frontPage() {
  return new Elysia().get(
    "/",
    () => new Response(null, { status: 302, headers: { location: "api/v1/docs" } }),
  );
}

/**
 * `/api/v1/openapi.json` and, for people, `/api/v1/docs`. Neither needs a token, nor is part of the API that they
 * describe. The server has all files of the page, so it works without the internet. `serverUrl` as in
 * `openApiDocument`.
 */
export function documentationRoutes(serverUrl?: string) {
  const document = lazily(async () => {
    // Loaded on the first request, so that startup does not wait for it.
    const { openApiDocument } = await import("./openapi.ts");
    return contentOf(JSON.stringify(await openApiDocument(serverUrl)), "application/json");
  });
  const html = lazily(async () => contentOf(page, "text/html; charset=utf-8"));

  const routes = new Elysia({ prefix: "/api/v1" })
    .get("/openapi.json", async ({ request }) => respond(request, await document()))
    .get("/docs", async ({ request }) => {
      const response = respond(request, await html());
      response.headers.set("content-security-policy", contentSecurityPolicy);
      return response;
    });
  for (const [name, { path, type }] of Object.entries(files)) {
    const content = lazily(async () => contentOf(await Bun.file(path).bytes(), type));
    routes.get(`/docs/${name}`, async ({ request }) => respond(request, await content()));
  }
  return routes;
}

/** Calls `make` on first use and keeps the result. */
function lazily<Made>(make: () => Promise<Made>): () => Promise<Made> {
  let made: Promise<Made> | undefined;
  return () => (made ??= make());
}

function contentOf(body: string | Uint8Array<ArrayBuffer>, type: string): Content {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return { body: bytes, type, etag: `"${Bun.hash(bytes).toString(16)}"` };
}

/** The content, or 304 if the browser has it. Browsers revalidate every time, so a new version shows at once. */
function respond(request: Request, { body, type, etag }: Content): Response {
  const headers = { etag, "cache-control": "no-cache", "referrer-policy": "no-referrer" };
  const known = request.headers
    .get("if-none-match")
    ?.split(",")
    .map((mark) => mark.trim().replace(/^W\//, ""));
  if (known?.some((mark) => mark === etag || mark === "*"))
    return new Response(null, { status: 304, headers });
  return new Response(body, { headers: { ...headers, "content-type": type } });
}
