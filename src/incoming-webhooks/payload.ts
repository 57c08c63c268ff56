import { invalid } from "../errors.ts";
import { UnreadableBody } from "../input/json.ts";
import { bodyLengthMax } from "../messages/schemas.ts";
import { isNameable, isStorable, isWithin, trim } from "../input/text.ts";
import { iconUrlLengthMax, usernameLengthMax } from "./schemas.ts";

/** The content of a message from an incoming webhook. */
export type IncomingPayload = { text: string; username: string | null; iconUrl: string | null };

/**
 * Validates and returns the payload of an incoming webhook (specification part 4, ingest). `text` wins over `body`
 * unless empty; an empty `username` or `icon_url` counts as absent; other fields are ignored. Lengths are code
 * points.
 * @throws DomainError `invalid` with a message for each malformed field.
 */
export function checkPayload(value: unknown): IncomingPayload {
  if (value instanceof UnreadableBody) throw value.error;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid({ body: ["The body must be a JSON object."] });
  }
  const fields = value as Record<string, unknown>;
  const errors = new Map<string, string[]>();
  const read = (name: string, limit: number): string => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const wrong = whyNot(field, limit);
    if (wrong !== undefined) errors.set(name, [`The ${name} field ${wrong}.`]);
    return typeof field === "string" ? trim(field) : "";
  };

  const text = read("text", bodyLengthMax);
  const body = text === "" && !errors.has("text") ? read("body", bodyLengthMax) : "";
  const username = read("username", usernameLengthMax);
  const iconUrl = read("icon_url", iconUrlLengthMax);
  if (text === "" && body === "" && !errors.has("text") && !errors.has("body")) {
    errors.set("text", ["The text field is required."]);
  }
  if (!isNameable(username)) errors.set("username", ["The username field must be on one line."]);
  if (!isNameable(iconUrl)) errors.set("icon_url", ["The icon_url field must be on one line."]);
  if (iconUrl !== "" && !/^https?:\/\//i.test(iconUrl)) {
    errors.set("icon_url", ["The icon_url field must start with http:// or https://."]);
  }
  if (errors.size > 0) throw invalid(Object.fromEntries(errors));
  return { text: text || body, username: username || null, iconUrl: iconUrl || null };
}

function whyNot(field: unknown, limit: number): string | undefined {
  if (field === undefined || field === null) return undefined;
  if (typeof field !== "string") return "must be a string";
  if (!isStorable(field)) return "must not contain a NUL character or half of a surrogate pair";
  if (!isWithin(trim(field), limit)) return `must not be longer than ${limit} characters`;
  return undefined;
}
