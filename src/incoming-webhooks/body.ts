import { parseJson } from "../http/json-body.ts";
import { UnreadableBody } from "../validation.ts";

/**
 * The JSON that a sender means, from the bytes as they came: a JSON body under whatever content type, as `curl -d` and
 * many scripts send it, or a form whose field `payload` holds the JSON, as the senders of Slack and GitHub do.
 * What is neither comes back as `UnreadableBody`, because other checks have their turn first.
 */
export async function readPayload(bytes: Uint8Array, contentType: string): Promise<unknown> {
  const value = parseJson(bytes);
  if (!(value instanceof UnreadableBody)) return value;
  const payload = await payloadField(bytes, contentType);
  return payload === undefined ? value : parseJson(new TextEncoder().encode(payload));
}

async function payloadField(bytes: Uint8Array, contentType: string): Promise<string | undefined> {
  if (!/^(application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(contentType)) return undefined;
  try {
    const form = await new Response(bytes, { headers: { "content-type": contentType } }).formData();
    const field = form.get("payload");
    return typeof field === "string" ? field : undefined;
  } catch {
    // Not a form after all: the caller says what is wrong with the body.
    return undefined;
  }
}
