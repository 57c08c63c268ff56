import { expect } from "bun:test";
import { checkAgainstDocument } from "./openapi-check.ts";

/** The body of a refusal: `errors` only with 422. */
export type Refusal = { message: string; errors?: Record<string, string[]> };

/** An answer, read to its end. `json` is undefined where there is no body. */
export type Answer<Body = Refusal> = { status: number; headers: Headers; text: string; json: Body };

/** A string or bytes are sent as they are, anything else as JSON. */
export type RequestBody = string | Uint8Array<ArrayBuffer> | object;

export type ApiClient = ReturnType<typeof apiClient>;

/**
 * Calls `/api/v1` of the server at `url` with the token, or without one. Each answer is held against what every answer
 * promises and against the OpenAPI document. `Body` is what the caller expects to find in `json`; a test that expects
 * a refusal leaves it out.
 */
export function apiClient(url: string, token?: string) {
  async function send<Body>(
    method: string,
    path: string,
    body?: RequestBody,
    headers: Record<string, string> = {},
  ): Promise<Answer<Body>> {
    const isRaw = body === undefined || typeof body === "string" || body instanceof Uint8Array;
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      redirect: "manual",
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: isRaw ? (body ?? null) : JSON.stringify(body),
    });
    const answer = await readAnswer<Body>(`${method} ${path}`, response);
    if (answer.status === 401) expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer\b/);
    checkAgainstDocument(method, `/api/v1${path}`, answer.status, answer.headers, answer.json);
    return answer;
  }

  return {
    get: <Body = Refusal>(path: string, headers?: Record<string, string>) =>
      send<Body>("GET", path, undefined, headers),
    post: <Body = Refusal>(path: string, body?: RequestBody, headers?: Record<string, string>) =>
      send<Body>("POST", path, body, headers),
    patch: <Body = Refusal>(path: string, body?: RequestBody, headers?: Record<string, string>) =>
      send<Body>("PATCH", path, body, headers),
    put: <Body = Refusal>(path: string, body?: RequestBody, headers?: Record<string, string>) =>
      send<Body>("PUT", path, body, headers),
    del: <Body = Refusal>(path: string, body?: RequestBody, headers?: Record<string, string>) =>
      send<Body>("DELETE", path, body, headers),
    /** For a method that comes from a table. */
    send,
  };
}

/**
 * Reads the response and checks what holds for each one: an `X-Request-Id`, `nosniff`, JSON with its content type or no
 * body at all, a `message` in every refusal, `errors` in 422 alone, and the headers that go with 405, 429 and
 * 503.
 * `request` names it in what a failure says.
 */
export async function readAnswer<Body = Refusal>(request: string, response: Response): Promise<Answer<Body>> {
  const { status, headers } = response;
  const text = await response.text();
  const what = `${request} → ${status} ${text.slice(0, 200)}`;
  expect(headers.get("x-request-id"), what).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(headers.get("x-content-type-options"), what).toBe("nosniff");
  if (status === 202 || status === 204) expect(text, what).toBe("");
  else expect(headers.get("content-type"), what).toMatch(/^application\/json(;\s*charset=utf-8)?$/i);
  const json: unknown = text === "" ? undefined : JSON.parse(text);

  if (status >= 400) expectRefusal(status, json, what);
  if (status === 405) expect(headers.get("allow"), what).toMatch(/^[A-Z]+(, [A-Z]+)*$/);
  if (status === 429 || status === 503) expect(headers.get("retry-after"), what).toMatch(/^[1-9][0-9]*$/);
  return { status, headers, text, json: json as Body };
}

function expectRefusal(status: number, json: unknown, what: string): void {
  const { message, errors } = json as Refusal;
  expect(Object.keys(json as object).sort(), what).toEqual(
    status === 422 ? ["errors", "message"] : ["message"],
  );
  expect(message, what).toMatch(/\S/);
  if (errors === undefined) return;
  const complaints = Object.values(errors);
  expect(complaints.length, what).toBeGreaterThan(0);
  for (const list of complaints) {
    expect(list.length, what).toBeGreaterThan(0);
    for (const complaint of list) expect(complaint, what).toMatch(/\S/);
  }
}
