import { readBytes } from "../http/json-body.ts";
import { parseJson, UnreadableBody } from "../input/json.ts";
import { scimError, ScimError } from "./protocol/errors.ts";

/**
 * Reads the JSON object in the request's body, under any `Content-Type`: directories send several, or none.
 * @throws ScimError `invalidSyntax`, 415 for a compressed body; DomainError `too_large` over 1 MiB.
 */
export async function readObject(request: Request): Promise<object> {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new ScimError(415, "Send the body uncompressed, without a Content-Encoding.");
  }
  const value = parseJson(await readBytes(request));
  if (value instanceof UnreadableBody) throw scimError("invalidSyntax", value.error.message);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw scimError("invalidSyntax", "The body must be a JSON object.");
}
