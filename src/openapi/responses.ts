import type { Header, MediaType, Reference, Response } from "./document.ts";

/** Response headers, each said once. */
export const headers: Readonly<Record<string, Header>> = {
  "X-Request-Id": {
    description: "Names this request in the server's log.",
    schema: { type: "string", format: "uuid" },
    example: "01a1f9fc-8bf6-77c1-b1d6-5a05ee1f4e2a",
  },
  "X-RateLimit-Limit": {
    description: "How many requests may be made in 60 seconds.",
    schema: { type: "integer", minimum: 1 },
    example: 60,
  },
  "X-RateLimit-Remaining": {
    description: "How many of them are left.",
    schema: { type: "integer", minimum: 0 },
    example: 59,
  },
  "X-RateLimit-Reset": {
    description: "When the 60 seconds end, in seconds since 1970.",
    schema: { type: "integer", minimum: 0 },
    example: 1_795_195_500,
  },
  "Retry-After": {
    description: "How long to wait, in seconds.",
    schema: { type: "integer", minimum: 1 },
    example: 42,
  },
  "WWW-Authenticate": {
    description: "The scheme to authenticate with.",
    schema: { type: "string" },
    example: 'Bearer realm="parley"',
  },
};

const rateLimitHeaders = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/** What a success says where the schema of its body does not say it. */
const successes: Readonly<Record<number, string>> = {
  200: "Done.",
  201: "Created.",
  202: "Taken. There is no body.",
  204: "Done. There is no body.",
};

type ErrorResponse = { name: string; description: string; message: string; headers: readonly string[] };

/** The refusals whose body is an Error, by status: the name of their component, and what they say. */
const errorResponses: Readonly<Record<number, ErrorResponse>> = {
  401: {
    name: "Unauthenticated",
    description: "The token is missing, malformed, expired or revoked.",
    message: "Send a valid token as Authorization: Bearer <ACCESS_TOKEN>.",
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
      "There is no such thing in the token's workspace, or the subject cannot see it: both read the same. While the platform is switched off, every address answers this.",
    message: "There is no such channel.",
    headers: rateLimitHeaders,
  },
  413: {
    name: "TooLarge",
    description: "The body is larger than 1 MiB.",
    message: "The body must not be larger than 1024 KiB.",
    headers: rateLimitHeaders,
  },
  415: {
    name: "UnsupportedMediaType",
    description: "The body is not sent as `application/json` in UTF-8.",
    message: "Send the body with Content-Type: application/json (in UTF-8).",
    headers: rateLimitHeaders,
  },
  429: {
    name: "RateLimited",
    description:
      "There were too many requests in these 60 seconds, or too many with wrong credentials from this address: that takes the place of 401, and of 404 for an address of an incoming webhook, and refuses nobody whose credentials are right.",
    message: "This token may make 60 requests a minute. Try again in 42 s.",
    headers: [...rateLimitHeaders, "Retry-After"],
  },
  500: {
    name: "Fault",
    description: "A fault of the server; its log tells more under the `X-Request-Id`.",
    message: "Something went wrong on our side. The server's log says what, under this X-Request-Id.",
    headers: [],
  },
  503: {
    name: "Unavailable",
    description:
      "The server cannot do this at the moment: its disk is full or faulty, another process kept the database locked, or the key of the stored secrets is not there. Nothing was saved.",
    message: "The disk is full. Nothing was saved; make room on the disk of the data folder and try again.",
    headers: ["Retry-After"],
  },
};

/** The components that `refusal` refers to. */
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

/** The refusal of that status as every route has it, or undefined where its body is not an Error. */
export function errorReference(status: number): Reference | undefined {
  const found = errorResponses[status];
  return found && { $ref: `#/components/responses/${found.name}` };
}

/** The refusal of input, with an example that complains about the field. */
export function inputErrorResponse(field: string, message: string): Response {
  return response("The input is not valid; `errors` says what is wrong with each field.", {
    schema: { $ref: "#/components/schemas/ValidationError" },
    example: { message, errors: { [field]: [message] } },
  });
}

/** An answer of a route's own. Without a description it says what its status says. */
export function ownResponse(status: number, description = successes[status], body?: MediaType): Response {
  if (description === undefined) throw new Error(`openapi/responses.ts does not say what ${status} means.`);
  return response(description, body);
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
