import { DomainError } from "../errors.ts";
import { parseJson, UnreadableBody } from "../input/json.ts";

/** The maximum size of a request's body (decisions, section 1). */
export const bodyBytesMax = 1024 * 1024;

/** Chunks smaller than 64 bytes on average serve to cost us time, not to send anything. */
const chunksMax = bodyBytesMax / 64;

/**
 * Reads the whole body, at most 1 MiB. Bun discards the rest as it arrives, so a client sees the error while it is
 * still sending, and can reuse the connection; a client that stalls is disconnected after ten seconds.
 * @throws DomainError `too_large`; `bad_request` when the body is incomplete or comes in tiny chunks.
 */
export function readBytes(request: Request): Promise<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  // When the length is known and allowed, reading all at once costs less than a stream of chunks.
  return declared > 0 && declared <= bodyBytesMax
    ? request.arrayBuffer().then((buffer) => new Uint8Array(buffer), throwIncomplete)
    : readChunks(request, declared);
}

async function readChunks(request: Request, declared: number): Promise<Uint8Array> {
  if (declared > bodyBytesMax) throw tooLarge();
  if (!request.body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunksOf(request.body)) {
    size += chunk.byteLength;
    if (size > bodyBytesMax) throw tooLarge();
    if (chunks.length === chunksMax)
      throw new DomainError("bad_request", "The body is sent in too many small chunks.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch {
    throwIncomplete();
  }
}

function throwIncomplete(): never {
  throw new DomainError("bad_request", "The body is incomplete.");
}

/** Returns the error in place of a body that is not read because it is compressed; undefined for any other body. */
export function unreadEncoding(headers: Headers): UnreadableBody | undefined {
  const encoding = headers.get("content-encoding");
  if (encoding === null || encoding.toLowerCase() === "identity") return undefined;
  return new UnreadableBody(
    new DomainError("unsupported_media_type", "Send the body uncompressed, without a Content-Encoding."),
  );
}

/**
 * Parses a body with these headers as JSON. An invalid body is returned as `UnreadableBody`, not thrown, because
 * visibility and permission are checked before it; `checkOf` throws it then.
 */
export function jsonOf(headers: Headers, bytes: Uint8Array): unknown {
  const value = parseJson(bytes);
  if (value instanceof UnreadableBody || isJsonType(headers.get("content-type"))) return value;
  return new UnreadableBody(notJson());
}

/** The error for a body of another media type. */
export function notJson(): DomainError {
  return new DomainError(
    "unsupported_media_type",
    "Send the body with Content-Type: application/json (in UTF-8).",
  );
}

// By hand, not with MIMEType of node:util, which costs four times as much.
function isJsonType(header: string | null): boolean {
  if (header === null || header === "") return true;
  const [type = "", ...parameters] = header.toLowerCase().split(";");
  if (type.trim() !== "application/json") return false;
  return parameters.every((parameter) => {
    const [name, value] = parameter.split("=");
    return name?.trim() !== "charset" || /^"?utf-?8"?$/.test(value?.trim() ?? "");
  });
}

/** The error for a body over 1 MiB. */
export function tooLarge(): DomainError {
  return new DomainError("too_large", `The body must not be larger than ${bodyBytesMax / 1024} KiB.`);
}
