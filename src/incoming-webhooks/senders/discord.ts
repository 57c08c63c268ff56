import type { DomainError } from "../../errors.ts";
import type { Message } from "../../messages/schemas.ts";
import { cannotSign } from "./cannot-sign.ts";
import { type Fields, isObject, objectIn, objectOf, objectsIn, textIn } from "./fields.ts";
import type { Sender, SenderResponse } from "./sender.ts";

/** Programs that post to Discord's webhooks, which Parley answers as Discord does. */
export const discord: Sender = {
  suffix: "discord",
  name: "Discord-compatible senders",
  field: "payload_json",
  messageOf: ({ payload }) => {
    const fields = objectOf(payload);
    return {
      text: textOf(fields),
      username: textIn(fields, "username") || null,
      iconUrl: textIn(fields, "avatar_url") || null,
    };
  },
  isFrom: ({ payload }) =>
    isObject(payload) && (Array.isArray(payload.embeds) || typeof payload.content === "string"),
  accepted: (message, request) =>
    new URL(request.url).searchParams.get("wait") === "true"
      ? json(200, messageResource(message))
      : { status: 204, body: null, headers: {} },
  refused: (error, status) => {
    const [itsStatus, code] = statusAndCode(error, status);
    const delay = Number(error.headers["retry-after"]);
    const more = itsStatus === 429 ? { retry_after: delay, global: false } : {};
    return json(itsStatus, { message: error.message, code, ...more });
  },
  setUp: (address, secret) => [
    "Wherever a program asks for Discord's webhook URL, paste:",
    "",
    `  ${address}`,
    "",
    "discord.js takes no other URL than Discord's, so tell it where its API is:",
    "",
    `  new WebhookClient({ id: "0", token: "0" }, { rest: { api: "${address}" } })`,
    ...cannotSign(secret),
  ],
};

function textOf(fields: Fields): string {
  const parts = [
    textIn(fields, "content"),
    ...objectsIn(fields, "embeds").map((embed) => embedLines(embed).join("\n")),
    componentLines(fields).join("\n"),
    textIn(objectIn(objectIn(fields, "poll"), "question"), "text"),
  ];
  return parts.filter((part) => part.trim() !== "").join("\n\n");
}

function embedLines(embed: Fields): string[] {
  const links = [
    textIn(embed, "url"),
    textIn(objectIn(embed, "image"), "url"),
    textIn(objectIn(embed, "thumbnail"), "url"),
  ];
  return [
    textIn(objectIn(embed, "author"), "name"),
    textIn(embed, "title"),
    textIn(embed, "description"),
    ...objectsIn(embed, "fields").map(fieldLine),
    // An attachment of the same post is not kept.
    ...links.filter((url) => !url.startsWith("attachment:")),
    textIn(objectIn(embed, "footer"), "text"),
  ].filter((line) => line.trim() !== "");
}

function fieldLine(field: Fields): string {
  const name = textIn(field, "name").trim();
  const value = textIn(field, "value").trim();
  return name === "" || value === "" ? name + value : `${name}: ${value}`;
}

/** The texts and the links among the components, however they are nested. */
function componentLines(fields: Fields): string[] {
  return objectsIn(fields, "components").flatMap((component) => {
    const text = textIn(component, "content");
    const url = textIn(component, "url");
    const own = text || (url && `${textIn(component, "label")} ${url}`.trim());
    return own ? [own, ...componentLines(component)] : componentLines(component);
  });
}

/** Discord's codes (https://discord.com/developers/docs/topics/opcodes-and-status-codes#json). */
function statusAndCode({ code, errors }: DomainError, status: number): [number, number] {
  switch (code) {
    case "invalid":
      return [400, errors?.text ? 50006 : 50109];
    case "unauthenticated":
      return [401, 50027];
    case "forbidden":
      return [403, 50013];
    case "not_found":
      return [404, 10015];
    case "too_large":
      return [413, 40005];
    default:
      return [status, 0];
  }
}

/** The message in Discord's shape. Its ids are Parley's. */
function messageResource(message: Message) {
  return {
    id: message.id,
    type: 0,
    content: message.body,
    channel_id: message.channel_id,
    webhook_id: message.author.id,
    author: {
      id: message.author.id,
      username: message.username ?? message.author.name,
      discriminator: "0000",
      global_name: null,
      avatar: null,
      bot: true,
    },
    timestamp: message.created_at,
    edited_timestamp: null,
    tts: false,
    mention_everyone: false,
    mentions: [],
    mention_roles: [],
    attachments: [],
    embeds: [],
    components: [],
    pinned: false,
    flags: 0,
  };
}

function json(status: number, body: object): SenderResponse {
  return { status, body: JSON.stringify(body), headers: { "content-type": "application/json" } };
}
