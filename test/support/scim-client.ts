import { expect } from "bun:test";
import type { RequestBody } from "./client.ts";

export const userSchema = "urn:ietf:params:scim:schemas:core:2.0:User";
export const groupSchema = "urn:ietf:params:scim:schemas:core:2.0:Group";
const patchSchema = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
const listSchema = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
const errorSchema = "urn:ietf:params:scim:api:messages:2.0:Error";

/** A refusal (RFC 7644, 3.12). */
export type Refusal = { schemas: string[]; status: string; scimType?: string; detail: string };

export type Meta = { resourceType: string; created: string; lastModified: string; location: string };

export type User = {
  schemas: string[];
  id: string;
  externalId?: string;
  userName: string;
  name?: { formatted?: string; givenName?: string; familyName?: string };
  displayName: string;
  emails: Array<{ value: string; type?: string; primary: boolean }>;
  active: boolean;
  roles: Array<{ value: string; primary: boolean }>;
  meta: Meta;
};

export type Group = {
  schemas: string[];
  id: string;
  externalId?: string;
  displayName: string;
  members?: Array<{ value: string; display: string; type: string; $ref: string }>;
  meta: Meta;
};

export type List<Resource> = {
  schemas: string[];
  totalResults: number;
  startIndex: number;
  itemsPerPage: number;
  Resources: Resource[];
};

export type Answer<Body> = { status: number; headers: Headers; json: Body };

export type ScimClient = ReturnType<typeof scimClient>;

/**
 * Calls `/scim/v2` of the server at `url` as a directory does. `contentType` is what it says of its bodies, if anything.
 * Each answer is held against what holds for all of them: the media type, the form of lists and of refusals, no nulls.
 */
export function scimClient(url: string, token: string | undefined, contentType = "application/scim+json") {
  async function send<Body = Refusal>(
    method: string,
    path: string,
    body?: RequestBody,
    headers: Record<string, string> = {},
  ): Promise<Answer<Body>> {
    const isRaw = body === undefined || typeof body === "string" || body instanceof Uint8Array;
    const response = await fetch(`${url}/scim/v2${path}`, {
      method,
      redirect: "manual",
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": contentType }),
        ...headers,
      },
      body: isRaw ? (body ?? null) : JSON.stringify(body),
    });
    return await readAnswer<Body>(`${method} ${path}`, response);
  }

  return {
    get: <Body = Refusal>(path: string) => send<Body>("GET", path),
    /** The list at the path, with the parameters in the query. */
    list: async <Resource = User>(path: string, parameters: Record<string, string | number> = {}) => {
      const query = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
      const { status, json } = await send<List<Resource>>("GET", `${path}?${query.join("&")}`);
      expect(status, JSON.stringify(json)).toBe(200);
      return json;
    },
    post: <Body = Refusal>(path: string, body?: RequestBody) => send<Body>("POST", path, body),
    put: <Body = Refusal>(path: string, body?: RequestBody) => send<Body>("PUT", path, body),
    /** A PATCH of the operations. */
    patch: <Body = Refusal>(path: string, ...operations: object[]) =>
      send<Body>("PATCH", path, { schemas: [patchSchema], Operations: operations }),
    del: <Body = Refusal>(path: string) => send<Body>("DELETE", path),
    /** For a method or a body that comes from a table. */
    send,
  };
}

/** Reads the answer and checks what holds for each one. `request` names it in what a failure says. */
export async function readAnswer<Body>(request: string, response: Response): Promise<Answer<Body>> {
  const { status, headers } = response;
  const text = await response.text();
  const what = `${request} → ${status} ${text.slice(0, 200)}`;
  expect(headers.get("x-request-id"), what).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers.get("content-type"), what).toBe("application/scim+json");
  if (status === 204) {
    expect(text, what).toBe("");
    return { status, headers, json: undefined as Body };
  }
  expect(text, what).not.toMatch(/:null\b/);
  const json = JSON.parse(text) as Body;
  if (status >= 400) expectRefusal(status, json as Refusal, what);
  else if ((json as List<unknown>).schemas.includes(listSchema)) expectList(json as List<unknown>, what);
  return { status, headers, json };
}

function expectRefusal(status: number, { schemas, status: said, detail }: Refusal, what: string): void {
  expect(schemas, what).toEqual([errorSchema]);
  expect(said, what).toBe(String(status));
  expect(detail, what).toMatch(/\S/);
  expect(detail, what).not.toMatch(/\bat .*:\d+|SELECT|SQLite/);
}

function expectList(
  { totalResults, startIndex, itemsPerPage, Resources }: List<unknown>,
  what: string,
): void {
  expect(itemsPerPage, what).toBe(Resources.length);
  expect(totalResults, what).toBeGreaterThanOrEqual(itemsPerPage);
  expect(startIndex, what).toBeGreaterThanOrEqual(1);
}
