import type { Scope } from "../../src/tokens/scopes.ts";

/** A route of the API: its scope, the body that it takes and the status of its success. */
export type RestRoute = {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  scope: Scope;
  body?: object;
  success: number;
};

const message = "/channels/{channel}/messages/{message}";

/** Every route under `/api/v1`, in the order of the specification, which lacks two of them. */
export const restRoutes: readonly RestRoute[] = [
  { method: "GET", path: "/channels", scope: "channels:read", success: 200 },
  {
    method: "POST",
    path: "/channels",
    scope: "channels:write",
    body: { name: "{name}", visibility: "public" },
    success: 201,
  },
  { method: "GET", path: "/channels/{channel}", scope: "channels:read", success: 200 },
  { method: "POST", path: "/channels/{channel}/archive", scope: "channels:write", success: 200 },
  { method: "GET", path: "/channels/{channel}/messages", scope: "messages:read", success: 200 },
  {
    method: "POST",
    path: "/channels/{channel}/messages",
    scope: "messages:write",
    body: { body: "hello" },
    success: 201,
  },
  { method: "GET", path: message, scope: "messages:read", success: 200 },
  { method: "PATCH", path: message, scope: "messages:write", body: { body: "goodbye" }, success: 200 },
  { method: "DELETE", path: message, scope: "messages:write", success: 204 },
  { method: "PUT", path: `${message}/reactions/{emoji}`, scope: "reactions:write", success: 204 },
  { method: "DELETE", path: `${message}/reactions/{emoji}`, scope: "reactions:write", success: 204 },
  { method: "GET", path: "/channels/{channel}/members", scope: "members:read", success: 200 },
  {
    method: "POST",
    path: "/channels/{channel}/members",
    scope: "members:write",
    body: { user_id: "{user}" },
    success: 201,
  },
  { method: "DELETE", path: "/channels/{channel}/members/{user}", scope: "members:write", success: 204 },
  { method: "GET", path: "/webhooks", scope: "webhooks:read", success: 200 },
  {
    method: "POST",
    path: "/webhooks",
    scope: "webhooks:write",
    body: { name: "receiver", url: "http://127.0.0.1:9/", events: ["message.deleted"] },
    success: 201,
  },
  { method: "GET", path: "/webhooks/{subscription}", scope: "webhooks:read", success: 200 },
  {
    method: "PATCH",
    path: "/webhooks/{subscription}",
    scope: "webhooks:write",
    body: { name: "renamed" },
    success: 200,
  },
  { method: "GET", path: "/webhooks/{subscription}/deliveries", scope: "webhooks:read", success: 200 },
  { method: "GET", path: "/webhooks/{subscription}/events", scope: "webhooks:write", success: 200 },
  { method: "DELETE", path: "/webhooks/{subscription}", scope: "webhooks:write", success: 204 },
];

/** The route's address with its parameters filled in; an emoji is encoded. */
export function addressOf({ path }: RestRoute, parameters: Record<string, string>): string {
  return path.replace(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(parameters[name] ?? name));
}

/** The route's body with its parameters filled in, or undefined where it takes none. */
export function bodyOf({ body }: RestRoute, parameters: Record<string, string>): object | undefined {
  if (body === undefined) return undefined;
  const filled = Object.entries(body).map(([name, value]) => {
    const parameter = /^\{(\w+)\}$/.exec(String(value))?.[1];
    return [name, parameter === undefined ? value : parameters[parameter]];
  });
  return Object.fromEntries(filled) as object;
}
