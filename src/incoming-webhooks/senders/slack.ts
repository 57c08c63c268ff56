import { ChannelArchived } from "../../channels/access.ts";
import type { DomainError } from "../../errors.ts";
import { type Fields, isObject, objectOf, objectsIn, textIn } from "./fields.ts";
import { plainOf } from "./mrkdwn.ts";
import { cannotSign } from "./cannot-sign.ts";
import type { Sender, SenderResponse } from "./sender.ts";
import { linesOfAttachment } from "./slack-attachments.ts";
import { linesOfBlocks } from "./slack-blocks.ts";

/** Programs that post to Slack's incoming webhooks. */
export const slack: Sender = {
  suffix: "slack",
  name: "Slack-compatible senders",
  messageOf: ({ payload }) => {
    const fields = objectOf(payload);
    return {
      text: textOf(fields),
      username: textIn(fields, "username") || null,
      iconUrl: textIn(fields, "icon_url") || null,
    };
  },
  isFrom: ({ payload }) =>
    isObject(payload) && (Array.isArray(payload.attachments) || Array.isArray(payload.blocks)),
  refused: (error, status) => plain(...wordOf(error, status)),
  setUp: (address, secret) => [
    "Wherever a program asks for Slack's webhook URL, paste:",
    "",
    `  ${address}`,
    ...cannotSign(secret),
  ],
};

/** As Slack shows it: blocks take the place of the text, and attachments follow. */
function textOf(fields: Fields): string {
  const blocks = linesOfBlocks(objectsIn(fields, "blocks"));
  const text = blocks.some((line) => line !== "") ? blocks : [plainOf(textIn(fields, "text")).trim()];
  const first = text.join("\n");
  const attachments = objectsIn(fields, "attachments").map((each) => linesOfAttachment(each, first));
  return spaced([...text, ...attachments.flatMap((lines, at) => (at > 0 ? ["", ...lines] : lines))]);
}

/** The lines with one empty line at most between any two of them, and none before the first. */
function spaced(lines: string[]): string {
  return lines.filter((line, at) => line !== "" || (at > 0 && lines[at - 1] !== "")).join("\n");
}

/** Slack's statuses and words for what went wrong (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks). */
function wordOf(error: DomainError, status: number): [number, string] {
  if (error instanceof ChannelArchived) return [410, "channel_is_archived"];
  switch (error.code) {
    case "invalid":
      return [400, error.errors?.text ? "no_text" : "invalid_payload"];
    case "unauthenticated":
      return [403, "invalid_token"];
    case "forbidden":
      return [403, "action_prohibited"];
    case "not_found":
      return [404, "no_service"];
    case "too_large":
      return [413, "msg_too_long"];
    case "rate_limited":
      return [429, "rate_limited"];
    default:
      return status === 503 ? [503, "service_unavailable"] : [500, "rollup_error"];
  }
}

function plain(status: number, body: string): SenderResponse {
  return { status, body, headers: { "content-type": "text/plain; charset=utf-8" } };
}
