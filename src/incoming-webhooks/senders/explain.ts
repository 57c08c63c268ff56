import { DomainError } from "../../errors.ts";
import { UnreadableBody } from "../../input/json.ts";
import { isObject } from "./fields.ts";
import type { Sender } from "./sender.ts";
import { recognizedSender } from "./senders.ts";

/** How many names of fields an error lists, and how many characters of each. */
const namesMax = 5;
const nameLengthMax = 40;

/**
 * Returns the error of a post that makes no message with what the post holds, and with the address that would take it.
 * The messages by field stay as they are.
 */
export function explained(
  error: DomainError,
  sender: Sender | undefined,
  payload: unknown,
  headers: Headers,
): DomainError {
  const found = whatIsIn(payload);
  const better = betterAddress(sender, payload, headers);
  if (found === undefined && better === undefined) return error;
  const parts = [error.message, found, better].filter((part) => part !== undefined);
  return new DomainError(error.code, parts.join(" "), {
    ...(error.errors && { errors: error.errors }),
    headers: error.headers,
  });
}

function whatIsIn(payload: unknown): string | undefined {
  if (!isObject(payload) || payload instanceof UnreadableBody) return undefined;
  const names = Object.keys(payload);
  if (names.length === 0) return "The body has no fields.";
  const shown = names.slice(0, namesMax).map((name) => `"${name.slice(0, nameLengthMax).toWellFormed()}"`);
  if (names.length > namesMax) shown.push(`${names.length - namesMax} more`);
  const last = shown.pop();
  return `The body has ${shown.length === 0 ? last : `${shown.join(", ")} and ${last}`}.`;
}

function betterAddress(sender: Sender | undefined, payload: unknown, headers: Headers): string | undefined {
  if (payload instanceof UnreadableBody) {
    return sender === undefined ? "Text that is not JSON can be posted to …/text." : undefined;
  }
  const recognized = recognizedSender({ payload, headers });
  if (!recognized || recognized === sender) return undefined;
  return `It looks like a post of ${recognized.name}: post it to …/${recognized.suffix}.`;
}
