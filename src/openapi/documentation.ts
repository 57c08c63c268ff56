import { Elysia } from "elysia";
import bundle from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import styles from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import checkSignature from "./docs-page/check-signature.js" with { type: "file" };
import commonChanges from "./docs-page/common-changes.js" with { type: "file" };
import hmac from "./docs-page/hmac-sha256.js" with { type: "file" };
import pageStyles from "./docs-page/page.css" with { type: "file" };
import start from "./docs-page/start.js" with { type: "file" };
import webhooksStyles from "./docs-page/webhooks.css" with { type: "file" };
import webhooksScript from "./docs-page/webhooks.js" with { type: "file" };
import type { Config } from "../config.ts";
import { info } from "./info.ts";

/** A response body and its ETag. */
type Content = { body: Uint8Array<ArrayBuffer>; type: string; etag: string };

const javascript = "text/javascript; charset=utf-8";
const css = "text/css; charset=utf-8";
const html = "text/html; charset=utf-8";

/** The files of both pages by name under `/api/v1/docs/`, embedded in the binary. */
const files = {
  "swagger-ui-bundle.js": { path: bundle, type: javascript },
  "swagger-ui.css": { path: styles, type: css },
  "start.js": { path: start, type: javascript },
  "page.css": { path: pageStyles, type: css },
  "webhooks.js": { path: webhooksScript, type: javascript },
  "check-signature.js": { path: checkSignature, type: javascript },
  "common-changes.js": { path: commonChanges, type: javascript },
  "hmac-sha256.js": { path: hmac, type: javascript },
  "webhooks.css": { path: webhooksStyles, type: css },
};

/** The page loads nothing from elsewhere and cannot be framed; its scripts may connect to `connectSources` only. */
function contentSecurityPolicy(connectSources: "'self'" | "'none'"): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // Swagger UI has its icons in data: URLs.
    "img-src 'self' data:",
    `connect-src ${connectSources}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

// The URLs are relative, so that the page also works behind a proxy that serves it under a path prefix.
const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${info.title}</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="docs/swagger-ui.css">
    <link rel="stylesheet" href="docs/page.css">
  </head>
  <body>
    <nav>
      <a href="docs/webhooks">Webhooks: check a signature, see events and retries</a>
      <a href="openapi.json">The OpenAPI document</a>
    </nav>
    <main id="reference"></main>
    <noscript>This page needs JavaScript. The same document is at <a href="openapi.json">openapi.json</a>.</noscript>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script type="module" src="docs/start.js"></script>
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

/** The settings that the pages show. */
export type DocumentedSettings = Pick<
  Config,
  "baseUrl" | "webhooksMaxAttempts" | "webhooksBackoffBase" | "webhooksDisableAfter"
>;

/**
 * `/api/v1/openapi.json` and, for people, `/api/v1/docs` and `/api/v1/docs/webhooks`. None needs a token, nor is part
 * of the API that they describe. The server has all files of the pages, so they work without the internet.
 */
export function documentationRoutes(settings: DocumentedSettings) {
  const document = lazily(async () => {
    // Loaded on the first request, so that startup does not wait for it.
    const { openApiDocument } = await import("./openapi.ts");
    return contentOf(
      JSON.stringify(await openApiDocument(settings.baseUrl || undefined)),
      "application/json",
    );
  });
  const reference = lazily(async () => contentOf(page, html));
  const webhooks = lazily(async () => {
    const { webhooksPage } = await import("./webhooks-page.ts");
    return contentOf(webhooksPage(settings), html);
  });

  const routes = new Elysia({ prefix: "/api/v1" })
    .get("/openapi.json", async ({ request }) => respond(request, await document()))
    .get("/docs", async ({ request }) => respondWithPage(request, await reference(), "'self'"))
    // Whoever pastes a secret there need not trust its scripts: the browser lets them connect to nothing.
    .get("/docs/webhooks", async ({ request }) => respondWithPage(request, await webhooks(), "'none'"));
  for (const [name, { path, type }] of Object.entries(files)) {
    const content = lazily(async () => contentOf(await Bun.file(path).bytes(), type));
    routes.get(`/docs/${name}`, async ({ request }) => respond(request, await content()));
  }
  return routes;
}

function respondWithPage(request: Request, page: Content, connectSources: "'self'" | "'none'"): Response {
  const response = respond(request, page);
  response.headers.set("content-security-policy", contentSecurityPolicy(connectSources));
  return response;
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
