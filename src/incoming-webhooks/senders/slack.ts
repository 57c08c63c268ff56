import { type DomainError, invalid } from "../../errors.ts";
import { isObject, textIn } from "./fields.ts";
import type { Sender, SenderResponse } from "./sender.ts";

/** Programs that post to Slack's incoming webhooks. */
export const slack: Sender = {
  suffix: "slack",
  name: "Slack-compatible senders",
  messageOf: ({ payload }) => {
    if (!isObject(payload)) throw invalid({ body: ["The body must be a JSON object."] });
    return { text: textIn(payload, "text"), username: null, iconUrl: null };
  },
  isFrom: ({ payload }) =>
    isObject(payload) && (Array.isArray(payload.attachments) || Array.isArray(payload.blocks)),
  refused: (error) => plain(...wordOf(error)),
  setUp: (address) => ["Wherever a program asks for Slack's webhook URL, paste:", "", `  ${address}`],
};

function wordOf({ code, errors }: DomainError): [number, string] {
  if (code === "invalid") return [400, errors?.text ? "no_text" : "invalid_payload"];
  if (code === "forbidden") return [403, "action_prohibited"];
  if (code === "not_found") return [404, "no_service"];
  return [500, "rollup_error"];
}

function plain(status: number, body: string): SenderResponse {
  return { status, body, headers: { "content-type": "text/plain; charset=utf-8" } };
}
