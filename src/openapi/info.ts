import type { OpenApiDocument } from "./document.ts";

const description = `
**Authentication.** Every request carries \`Authorization: Bearer <ACCESS_TOKEN>\`. A bot's token acts as the bot, in the
channels that it belongs to; a personal access token acts as its owner, with that person's memberships and permissions.
Each operation needs exactly one scope, which stands in its \`x-required-scope\`.

**Order of checks.** The first that fails answers: token (401), rate limit (429), scope (403), visibility (404),
permission (403), input (422). An id that is not a uuid names something that does not exist: 404.

**Errors** are JSON with a \`message\`; a 422 adds \`errors\`, which maps each field to what is wrong with it. A method that
an address does not take answers 405 with \`Allow\`. Every response carries \`X-Request-Id\`.

**Rate limit.** Each token may make so many requests in 60 seconds; every answer to a valid token says where it stands in
\`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`. One too many answers 429 with \`Retry-After\`.

**Values.** Ids are uuids; those in the examples stand for yours. Times are RFC 3339 with milliseconds and a numeric offset. Lengths count Unicode code points.

**Compatibility.** Within v1, fields may be added; existing ones are neither changed nor removed.
`.trim();

export const info: OpenApiDocument["info"] = {
  title: "Parley API",
  version: "1.0.0",
  summary: "Read and post into a team-chat workspace, and be told what happens in it.",
  description,
  contact: { name: "Whoever runs this server" },
  license: { name: "MIT", identifier: "MIT" },
};

/** What each group of operations is about, in the order in which they are read. */
export const tags: OpenApiDocument["tags"] = [
  { name: "Channels", description: "Where messages are posted: public, private, or a conversation of two." },
  { name: "Messages", description: "What is said in a channel, replies and threads included." },
  { name: "Reactions", description: "Emoji on messages." },
  { name: "Members", description: "Who belongs to a channel." },
  {
    name: "Outgoing webhooks",
    description: "Subscriptions, which have events delivered to an address of yours as signed POST requests.",
  },
  { name: "Incoming webhooks", description: "Secret addresses that each post into one channel as a bot." },
];

export const securitySchemes: OpenApiDocument["components"]["securitySchemes"] = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "A bot token or a personal access token. It is shown once, when it is made.",
  },
};
