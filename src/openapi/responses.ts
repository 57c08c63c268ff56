import { unauthenticated } from "../http/authentication.ts";
import { internalErrorMessage } from "../http/error-responses.ts";
import { notJson, tooLarge } from "../http/json-body.ts";
import type { Header, MediaType, Reference, Response } from "./document.ts";

/** The response headers, by name. */
export const headers: Readonly<Record<string, Header>> = {
  "X-Request-Id": {
    description: "Identifies this request in the server's log.",
    schema: { type: "string", format: "uuid" },
    example: "01a1f9fc-8bf6-77c1-b1d6-5a05ee1f4e2a",
  },
  "X-RateLimit-Limit": {
    description: "The maximum number of requests in 60 seconds.",
    schema: { type: "integer", minimum: 1 },
    example: 60,
  },
  "X-RateLimit-Remaining": {
    description: "The number of requests left in the current 60 seconds.",
    schema: { type: "integer", minimum: 0 },
    example: 59,
  },
  "X-RateLimit-Reset": {
    description: "When the current 60 seconds end, in seconds since 1970.",
    schema: { type: "integer", minimum: 0 },
    example: 1_795_195_500,
  },
  "X-Ignored-Fields": {
    description:
      "Only if the body has fields that are not known and were ignored: their names, at most ten of 40 " +
      "characters, with `_` for characters that a header cannot have, and `...` if there are more.",
    schema: { type: "string" },
    example: "blocks, attachments",
  },
  "Retry-After": {
    description: "The number of seconds to wait before the next attempt.",
    schema: { type: "integer", minimum: 1 },
    example: 42,
  },
  "WWW-Authenticate": {
    description: "The authentication scheme.",
    schema: { type: "string" },
    example: 'Bearer realm="parley"',
  },
};

const rateLimitHeaders = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/** The descriptions of successes without one of their own. */
const successes: Readonly<Record<number, string>> = {
  200: "Done.",
  201: "Created.",
  202: "Accepted. There is no body.",
  204: "Done. There is no body.",
};

type ErrorResponse = { name: string; description: string; message: string; headers: readonly string[] };

/** The error responses whose body is an Error, by status, each with the name of its component. */
const errorResponses: Readonly<Record<number, ErrorResponse>> = {
  401: {
    name: "Unauthenticated",
    description: "The token is missing, malformed, expired or revoked.",
    message: unauthenticated().message,
    headers: ["WWW-Authenticate"],
  },
  403: {
    name: "Forbidden",
    description: "The token lacks the scope, or its subject may see the resource but not do this to it.",
    message: "The token lacks the scope channels:write.",
    headers: rateLimitHeaders,
  },
  404: {
    name: "NotFound",
    description:
      "The resource does not exist in the token's workspace, or its subject cannot see it; the response " +
      "is the same. While the platform is switched off, every path is 404.",
    message: "There is no such channel.",
    headers: rateLimitHeaders,
  },
  413: {
    name: "TooLarge",
    description: "The body is larger than 1 MiB.",
    message: tooLarge().message,
    headers: rateLimitHeaders,
  },
  415: {
    name: "UnsupportedMediaType",
    description: "The body is not sent as `application/json` in UTF-8.",
    message: notJson().message,
    headers: rateLimitHeaders,
  },
  429: {
    name: "RateLimited",
    description:
      "The token has exceeded its rate limit, or too many requests with wrong credentials came from this " +
      "client address. The latter replaces 401, and 404 for the URL of an incoming webhook; valid " +
      "credentials are never refused for it.",
    message: "This token may make 60 requests a minute. Try again in 42 s.",
    headers: [...rateLimitHeaders, "Retry-After"],
  },
  500: {
    name: "Fault",
    description: "An internal error. The server's log has the details under this `X-Request-Id`.",
    message: internalErrorMessage,
    headers: [],
  },
  503: {
    name: "Unavailable",
    description:
      "The server cannot handle this request now: its disk is full or faulty, its database cannot be reached, " +
      "another process holds the database lock, or the key of the stored secrets is missing. Nothing was saved.",
    message: "The disk is full. Nothing was saved; make room on the disk of the data folder and try again.",
    headers: ["Retry-After"],
  },
};

/** Returns the components to which `errorReference` refers. */
export function errorComponents(): Record<string, Response> {
  return Object.fromEntries(
    Object.values(errorResponses).map(({ name, description, message, headers }) => [
      name,
      response(
        description,
        { schema: { $ref: "#/components/schemas/Error" }, example: { message } },
        headers,
      ),
    ]),
  );
}

/** Returns the reference to the error response of that status, or undefined if its body is not an Error. */
export function errorReference(status: number): Reference | undefined {
  const found = errorResponses[status];
  return found && { $ref: `#/components/responses/${found.name}` };
}

/** Returns the response to invalid input, with an example for the field. */
export function inputErrorResponse(field: string, message: string): Response {
  return response("The input is invalid; `errors` lists the messages of each field.", {
    schema: { $ref: "#/components/schemas/ValidationError" },
    example: { message, errors: { [field]: [message] } },
  });
}

/** Returns a response of one route. Without a description it has the one of its status. */
export function ownResponse(
  status: number,
  {
    description = successes[status],
    body,
    mayIgnoreFields,
  }: { description: string | undefined; body: MediaType | undefined; mayIgnoreFields: boolean },
): Response {
  if (description === undefined) throw new Error(`openapi/responses.ts does not say what ${status} means.`);
  return response(description, body, mayIgnoreFields ? [...rateLimitHeaders, "X-Ignored-Fields"] : undefined);
}

function response(
  description: string,
  body?: MediaType,
  names: readonly string[] = rateLimitHeaders,
): Response {
  return {
    description,
    headers: Object.fromEntries(
      ["X-Request-Id", ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
    ),
    ...(body ? { content: { "application/json": body } } : {}),
  };
}
