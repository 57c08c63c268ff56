import { parseJson, UnreadableBody } from "../input/json.ts";

/**
 * The JSON that a sender means, from the bytes as they came: a JSON body under whatever content type, as `curl -d` and
 * many scripts send it, or a form whose field `payload` holds the JSON, as the senders of Slack and GitHub do.
 * What is neither comes back as `UnreadableBody`, because other checks have their turn first.
 */
export async function readPayload(bytes: Uint8Array, contentType: string): Promise<unknown> {
  const value = parseJson(bytes);
  if (!(value instanceof UnreadableBody)) return value;
  const payload = await payloadField(bytes, contentType);
  return payload === undefined ? value : parseJson(payload);
}

async function payloadField(bytes: Uint8Array, contentType: string): Promise<Uint8Array | undefined> {
  if (/^application\/x-www-form-urlencoded\b/i.test(contentType)) return urlEncodedField(bytes, "payload");
  if (/^multipart\/form-data\b/i.test(contentType))
    return await multipartField(bytes, contentType, "payload");
  return undefined;
}

// By hand and byte for byte: URLSearchParams puts U+FFFD where the bytes are not UTF-8, and nobody would notice. As
// there, a % that begins no escape stands for itself.
function urlEncodedField(bytes: Uint8Array, name: string): Uint8Array | undefined {
  const pairs = Buffer.from(bytes).toString("latin1").split("&");
  const encoded = pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
  const decoded = encoded
    ?.replaceAll("+", " ")
    .replace(/%([0-9a-f]{2})/gi, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return decoded === undefined ? undefined : Buffer.from(decoded, "latin1");
}

// Each byte stands as the character of its number while the form is taken apart, for the same reason.
async function multipartField(
  bytes: Uint8Array,
  contentType: string,
  name: string,
): Promise<Uint8Array | undefined> {
  try {
    const characters = Buffer.from(bytes).toString("latin1");
    const form = await new Response(characters, { headers: { "content-type": contentType } }).formData();
    const field = form.get(name);
    return typeof field === "string" ? Buffer.from(field, "latin1") : undefined;
  } catch {
    // Not a form after all: the caller says what is wrong with the body.
    return undefined;
  }
}
