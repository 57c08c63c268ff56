import type { OpenApiDocument } from "./document.ts";

const description = `
**Authentication.** Every request carries \`Authorization: Bearer <ACCESS_TOKEN>\`. A bot's token acts as the bot, in
the channels of which it is a member; a personal access token acts as its owner, with that person's memberships and
permissions. Each operation needs exactly one scope: its \`x-required-scope\`.

**Order of checks.** The first check that fails decides the response: token (401), rate limit (429), scope (403),
visibility (404), permission (403), input (422). An id that is not a UUID is 404, like that of a resource that does
not exist.

**Errors** are JSON with a \`message\`; a 422 adds \`errors\`, which maps each invalid field to its messages. A method
that a path does not support is 405 with \`Allow\`. Every response carries \`X-Request-Id\`.

**Rate limit.** Each token has a limit of requests in 60 seconds. Every response to a valid token reports it in
\`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`. A request over the limit is 429 with
\`Retry-After\`.

**Values.** Ids are UUIDs; replace those in the examples with yours. Times are RFC 3339 with milliseconds and a
numeric offset. Lengths count Unicode code points.

**Unknown fields** of a body are errors where a webhook is created or edited. Elsewhere they are ignored, and
\`X-Ignored-Fields\` names them.

**Compatibility.** Within v1, fields may be added; existing ones are neither changed nor removed.
`.trim();

export const info: OpenApiDocument["info"] = {
  title: "Parley API",
  version: "1.0.0",
  summary: "Read and post messages in a team-chat workspace, and receive its events.",
  description,
  contact: { name: "The operator of this server" },
  license: { name: "MIT", identifier: "MIT" },
};

/** The groups of operations, in reading order. */
export const tags: OpenApiDocument["tags"] = [
  { name: "Channels", description: "Public and private channels, and direct messages between two people." },
  { name: "Messages", description: "The messages of a channel, with replies and threads." },
  { name: "Reactions", description: "Emoji on messages." },
  { name: "Members", description: "The members of a channel." },
  {
    name: "Outgoing webhooks",
    description: "Subscriptions: Parley delivers events to your URL as signed POST requests.",
  },
  { name: "Incoming webhooks", description: "Secret URLs, each of which posts to one channel as a bot." },
];

export const securitySchemes: OpenApiDocument["components"]["securitySchemes"] = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "A bot token or a personal access token. It is shown once, when it is created.",
  },
};
