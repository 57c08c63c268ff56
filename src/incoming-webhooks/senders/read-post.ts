import { UnreadableBody } from "../../input/json.ts";
import { readPayload } from "../body.ts";
import { checkPayload, type IncomingPayload } from "../payload.ts";
import { fitting } from "./fitting.ts";
import type { Sender } from "./sender.ts";

/** Returns what the body holds, read as the sender's, or as specified where there is none; see `readPayload`. */
export function payloadOf(sender: Sender | undefined, bytes: Uint8Array, headers: Headers): Promise<unknown> {
  if (sender?.reads === "text") return Promise.resolve(new TextDecoder().decode(bytes));
  return readPayload(bytes, headers.get("content-type") ?? "", sender?.field);
}

/**
 * Returns the message that the payload makes, as the sender's or as specified.
 * @throws DomainError `invalid` for what makes none.
 */
export function messageIn(sender: Sender | undefined, payload: unknown, headers: Headers): IncomingPayload {
  if (sender === undefined) return checkPayload(payload);
  if (payload instanceof UnreadableBody) throw payload.error;
  return fitting(sender.messageOf({ payload, headers }));
}
