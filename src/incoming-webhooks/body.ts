import { parseJson, UnreadableBody } from "../input/json.ts";

/**
 * Returns the JSON value in the raw body: a JSON body under any content type, as `curl -d` and many scripts send it,
 * or a form whose field of that name holds the JSON, as senders for Slack and GitHub do. Returns `UnreadableBody` for
 * anything else instead of throwing, because other checks come first.
 */
export async function readPayload(
  bytes: Uint8Array,
  contentType: string,
  field = "payload",
): Promise<unknown> {
  const value = parseJson(bytes);
  if (!(value instanceof UnreadableBody)) return value;
  const payload = await fieldOf(bytes, contentType, field);
  return payload === undefined ? value : parseJson(payload);
}

async function fieldOf(
  bytes: Uint8Array,
  contentType: string,
  name: string,
): Promise<Uint8Array | undefined> {
  if (/^application\/x-www-form-urlencoded\b/i.test(contentType)) return urlEncodedField(bytes, name);
  if (/^multipart\/form-data\b/i.test(contentType)) return await multipartField(bytes, contentType, name);
  return undefined;
}

// Decoded by hand, byte for byte: URLSearchParams silently replaces invalid UTF-8 with U+FFFD. As with URLSearchParams,
// a % that does not start an escape stays as it is.
function urlEncodedField(bytes: Uint8Array, name: string): Uint8Array | undefined {
  const pairs = Buffer.from(bytes).toString("latin1").split("&");
  const encoded = pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
  const decoded = encoded
    ?.replaceAll("+", " ")
    .replace(/%([0-9a-f]{2})/gi, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return decoded === undefined ? undefined : Buffer.from(decoded, "latin1");
}

// Parsed as Latin-1, one character a byte, for the same reason.
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
    // Not a form after all: the caller reports the body as unreadable.
    return undefined;
  }
}
