import { afterAll, beforeAll, expect, test } from "bun:test";
import { DescriptorReserve } from "../../src/system/descriptors.ts";
import { startServer } from "../../src/http/server.ts";
import { createLog } from "../../src/log/log.ts";
import { readAnswer } from "../support/client.ts";

/** What the application does at each of its addresses. */
const behaviours: Record<string, () => Response | Promise<Response>> = {
  "/throws": () => {
    throw new Error("secret: thrown");
  },
  "/rejects": () => Promise.reject(new TypeError("secret: rejected")),
  "/throws-nothing": () => {
    throw undefined;
  },
  "/throws-text": () => {
    throw "secret: text";
  },
  "/throws-a-response": () => {
    throw new Response("secret: response", { status: 200 });
  },
  "/works": () => Response.json({ data: [] }),
  "/caches": () => Response.json({ data: [] }, { headers: { "cache-control": "max-age=60" } }),
};

const lines: Array<Record<string, unknown>> = [];
let server: ReturnType<typeof startServer>;

beforeAll(() => {
  const log = createLog("info", { write: (line) => void lines.push(JSON.parse(line)) });
  const routes = Object.keys(behaviours).map((path) => ({ method: "GET", path }));
  const fetch = (request: Request) => {
    const behave = behaviours[new URL(request.url).pathname];
    if (!behave) throw new Error("the server let through what is no route");
    return behave();
  };
  server = startServer({ fetch, routes }, log, { host: "127.0.0.1", port: 0 }, new DescriptorReserve(0));
});

afterAll(() => server.stop());

async function get(path: string) {
  return await readAnswer(path, await fetch(`http://127.0.0.1:${server.port}${path}`));
}

test.each(Object.keys(behaviours).filter((path) => path.startsWith("/throws") || path === "/rejects"))(
  "an error that the application throws is a 500 without details, with a line in the log: %s",
  async (path) => {
    const { status, headers, text } = await get(path);
    expect(status).toBe(500);
    expect(text).not.toContain("secret");
    const line = lines.find(({ request_id }) => request_id === headers.get("x-request-id"));
    expect(line).toMatchObject({ level: 50, route: path, status: 500, msg: "request.failed" });
    expect((await get("/works")).status).toBe(200);
  },
);

test("a path without a route never reaches the application", async () => {
  for (const path of ["/", "/works/", "/works/x", "/%77orks"]) expect((await get(path)).status).toBe(404);
});

test("a response with its own Cache-Control keeps it", async () => {
  expect((await get("/caches")).headers.get("cache-control")).toBe("max-age=60");
  expect((await get("/works")).headers.get("cache-control")).toBe("no-store");
});
