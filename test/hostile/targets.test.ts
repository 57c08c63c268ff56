import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Channel } from "../../src/channels/schemas.ts";
import type { Message, MessagePage } from "../../src/messages/schemas.ts";
import { type ApiClient, apiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { expectNoFaults } from "./server-log.ts";
import { ask, exchange, requestText } from "./raw-connection.ts";

let stage: Stage;
let member: ApiClient;
let authorization: string;
let channel: string;
let messages: string;

beforeAll(async () => {
  stage = await startStage();
  const { token } = await stage.workspace.token(stage.cast.member);
  member = apiClient(stage.server.url, token);
  authorization = `Authorization: Bearer ${token}`;
  channel = `/api/v1/channels/${stage.cast.open.id}`;
  messages = `${channel}/messages`;
});

afterAll(() => stage[Symbol.asyncDispose]());

/** The answer to a GET of the target with these headers, as the member. */
async function get(target: string, ...headers: string[]) {
  return await ask(stage.server.url, `GET ${target} HTTP/1.1`, [authorization, ...headers]);
}

async function newMessage(): Promise<Message> {
  const path = `/channels/${stage.cast.open.id}/messages`;
  return (await member.post<{ data: Message }>(path, { body: "hello" })).json.data;
}

describe("the host of a request", () => {
  test.each(["x", "a.b", "localhost:1", "[::1]:80", "127.0.0.1", "xn--e1afmkfd.example"])(
    "does not matter: %s",
    async (host) => {
      expect((await get(channel, `Host: ${host}`)).status).toBe(200);
    },
  );

  test.each(["", "evil/y?z", "user@evil", "a b", "evil:99999", "[", "a#b", "\\", "<script>"])(
    "is refused when it is invalid: %p",
    async (host) => {
      expect((await get(channel, `Host: ${host}`)).status).toBe(400);
    },
  );

  test.each(["b", "a", "", "a:80"])("is refused when it occurs twice: a and %p", async (other) => {
    for (const headers of [
      ["Host: a", `Host: ${other}`],
      ["host: a", "X-Between: x", `HOST: ${other}`],
    ]) {
      const answer = await get(channel, ...headers);
      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.text)).toEqual({ message: "The request's address or Host is not valid." });
    }
  });

  test("is refused when it is missing, which HTTP/1.0 allows", async () => {
    const [answer] = await exchange(
      stage.server.url,
      requestText(`GET ${channel} HTTP/1.0`, [authorization], ""),
    );
    expect(answer?.status).toBe(400);
  });

  test("is never used in links, nor is any header of a proxy", async () => {
    const forged = [
      "Host: evil.example",
      "X-Forwarded-Host: evil.example",
      "X-Forwarded-Proto: gopher",
      "X-Forwarded-Port: 666",
      "X-Forwarded-Prefix: /evil",
      "Forwarded: for=1.2.3.4;host=evil.example;proto=gopher",
      "X-Original-URL: /healthz",
      "X-Rewrite-URL: /healthz",
      "X-Original-Host: evil.example",
    ];
    const answers = [
      await get(messages, ...forged),
      await get(`http://evil.example${messages}`),
      await get(messages, "Host: a", "Host: evil.example"),
    ];
    for (const { status, text } of answers) {
      if (status === 400) continue;
      const { links, meta } = JSON.parse(text) as MessagePage;
      expect(meta.path).toBe(stage.server.url + messages);
      expect(links.first).toBe(`${stage.server.url}${messages}?page=1`);
      expect(text).not.toMatch(/evil|gopher|:666\b/);
    }
    expect(answers[0]?.status).toBe(200);
  });
});

describe("a path", () => {
  test.each(["%zz", "%", "%f", "%ff", "%c0%af", "%ed%a0%80", "%00", "%2f", "%5c", "%252e", "%0d%0aX:%20y"])(
    "with %s as the id is 404",
    async (segment) => {
      expect((await get(`/api/v1/channels/${segment}`)).status).toBe(404);
      expect((await get(`${channel}${segment}`)).status).toBe(404);
      expect((await get(`${messages}/${segment}`)).status).toBe(404);
      const removal = `DELETE ${channel}/members/${segment} HTTP/1.1`;
      expect((await ask(stage.server.url, removal, [authorization])).status).toBe(404);
    },
  );

  test.each([
    "/api/v1/channels/",
    "/api/v1/channels//",
    "/api/v1//channels",
    "//api/v1/channels",
    "//evil.example/api/v1/channels",
    "/api/v1/%63hannels",
    "/api/v1/channels;a=b",
    "/API/V1/channels",
    "/api/v1/channels%2f",
    "/api/v1/channels%3fpage=1",
    "/api/v1/__proto__",
    "/api/v1/constructor",
    "/api/v1/*",
    "/api/v1/:channel",
    "/healthz/",
  ])("is matched to the letter: %s is 404", async (target) => {
    expect((await get(target)).status).toBe(404);
  });

  test("with dots is resolved first, and runs nothing of the path that it steps back from", async () => {
    const { id } = await newMessage();
    for (const emoji of ["..", ".", "%2e%2e", "%2e", ".%2E", ""]) {
      for (const method of ["PUT", "DELETE"]) {
        const line = `${method} ${messages}/${id}/reactions/${emoji} HTTP/1.1`;
        expect((await ask(stage.server.url, line, [authorization])).status).toBe(404);
      }
    }
    expect(
      (await member.get<{ data: Message }>(`/channels/${stage.cast.open.id}/messages/${id}`)).json.data,
    ).toMatchObject({
      body: "hello",
      reactions: [],
    });
    expect((await get(`/api/v1/nowhere/../channels/${stage.cast.open.id}`)).status).toBe(200);
  });

  test("names the same channel in either case of its id, and nothing with extra characters", async () => {
    const { id } = stage.cast.open;
    expect((await get(`/api/v1/channels/${id.toUpperCase()}`)).status).toBe(200);
    const more = ["%20", "%00", "%0a", "'", "%27%20OR%201=1--", ";", "\u00e9", "a".repeat(8_000)];
    for (const text of more) expect((await get(`/api/v1/channels/${id}${text}`)).status, text).toBe(404);
    const others = [`{${id}}`, id.replaceAll("-", ""), id.replace("0", "\uFF10"), "1", "-1", "null"];
    for (const text of others) expect((await get(`/api/v1/channels/${text}`)).status, text).toBe(404);
  });

  test.each(["#", "#fragment", "#/../channels", "?page=1#x"])("has no fragment: %s", async (fragment) => {
    expect((await get(`/api/v1/channels${fragment}`)).status).toBe(400);
  });

  test("may have thousands of unknown parameters", async () => {
    const parameters = Array.from({ length: 5_000 }, () => "a").join("&");
    expect((await get(`${channel}?${parameters}`)).status).toBe(200);
    expect((await get(`${messages}?${"a%5bb%5d&".repeat(1_500)}`)).status).toBe(200);
    expect((await get(`${channel}?%zz=%c0%af&%00&=&&?`)).status).toBe(200);
  });
});

describe("the method", () => {
  test.each(["TRACE", "CONNECT", "PROPFIND", "PURGE", "LINK", "SEARCH", "M-SEARCH", "LOCK"])(
    "%s does nothing anywhere",
    async (method) => {
      const [answer] = await exchange(
        stage.server.url,
        requestText(`${method} ${channel} HTTP/1.1`, ["Host: a", authorization, "Connection: close"]),
      );
      // What the parser does not know it closes on without a word.
      if (answer) expect([400, 405]).toContain(answer.status);
      expect(answer?.body ?? "").not.toContain(authorization);
    },
  );

  test("CONNECT to a host and port is refused", async () => {
    expect((await ask(stage.server.url, "CONNECT evil.example:443 HTTP/1.1")).status).toBe(400);
  });

  test("is the one in the request line, whatever headers or parameters say", async () => {
    const { id } = await newMessage();
    const overrides = [
      "X-HTTP-Method-Override: DELETE",
      "X-HTTP-Method: DELETE",
      "X-Method-Override: DELETE",
    ];
    const target = `${messages}/${id}?_method=DELETE`;
    expect((await get(target, ...overrides)).status).toBe(200);
    const post = await ask(
      stage.server.url,
      `POST ${target} HTTP/1.1`,
      [authorization, ...overrides],
      "_method=DELETE",
    );
    expect(post.status).toBe(405);
    expect((await get(target)).json).toMatchObject({ data: { body: "hello" } });
  });

  test("OPTIONS lists the methods, without a token and without opening the API to other origins", async () => {
    const preflight = ["Origin: https://evil.example", "Access-Control-Request-Method: POST"];
    const answer = await ask(stage.server.url, "OPTIONS /api/v1/channels HTTP/1.1", preflight);
    expect(answer.status).toBe(204);
    expect(answer.headers.get("allow")).toBe("GET, HEAD, POST");
    const names = [...answer.headers.keys()].filter((name) => name.startsWith("access-control"));
    expect(names).toEqual([]);
  });

  test("HEAD returns the headers of GET, its length included, without a body", async () => {
    const { headers, text } = await get(channel);
    const [head] = await exchange(
      stage.server.url,
      requestText(`HEAD ${channel} HTTP/1.1`, ["Host: a", authorization, "Connection: close"]),
    );
    expect(head?.status).toBe(200);
    expect(head?.body).toBe("");
    expect(head?.headers.get("content-length")).toBe(String(Buffer.byteLength(text)));
    expect(head?.headers.get("content-type")).toBe(headers.get("content-type"));
    const [date, headDate] = [headers.get("date"), head?.headers.get("date")].map((text) =>
      Date.parse(text ?? ""),
    );
    expect(Math.abs((headDate ?? 0) - (date ?? 0))).toBeLessThanOrEqual(2_000);
  });
});

describe("headers for features that the server lacks", () => {
  test.each([
    ["Range", "bytes=0-0"],
    ["If-Match", "*"],
    ["If-None-Match", "*"],
    ["If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT"],
    ["Upgrade", "websocket"],
    ["Upgrade", "h2c"],
    ["Accept", "text/html;q=0.1, */*;q=bogus"],
    ["Accept-Encoding", "gzip;q=1e999, br"],
    ["Accept-Language", "*".repeat(5_000)],
    ["Cookie", "__proto__=1; a=%zz; =; constructor[prototype]=x"],
    ["Origin", "null"],
    ["Referer", "javascript:alert(1)"],
    ["TE", "trailers, deflate;q=0.5"],
    ["__proto__", "x"],
    ["constructor", "x"],
  ])("do not change the response: %s: %s", async (name, value) => {
    const { status, json } = await get(channel, `${name}: ${value}`);
    expect(status).toBe(200);
    expect((json as unknown as { data: Channel }).data.id).toBe(stage.cast.open.id);
  });
});

test("no response is stored by a cache", async () => {
  const { token } = await stage.workspace.token(stage.cast.member);
  const anonymous = apiClient(stage.server.url);
  const answers = [
    await apiClient(stage.server.url, token).get("/channels"),
    await anonymous.get("/channels"),
    await anonymous.get("/nowhere"),
    await anonymous.send("PUT", "/channels"),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 401, 404, 405]);
  for (const { headers } of answers) expect(headers.get("cache-control")).toBe("no-store");
});

test("left no internal error in the log", () => expectNoFaults(stage.server));
