import { DomainError } from "../errors.ts";
import { parseJson, UnreadableBody } from "../json.ts";

/** No request of the API and no incoming webhook needs more (decisions, section 1). */
export const bodyBytesMax = 1024 * 1024;

/** Pieces smaller than 64 bytes on the average are made to cost us time, not to bring us something. */
const piecesMax = bodyBytesMax / 64;

/**
 * Reads the whole body, at most 1 MiB of it. What is not read is thrown away as it comes, so the sender gets to see the
 * refusal while it still sends, and can use the connection again; one that stalls is hung up on after ten seconds.
 * @throws DomainError `too_large`; `bad_request` when the sender breaks off or sends crumbs.
 */
export async function readBytes(request: Request): Promise<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > bodyBytesMax) throw tooLarge();
  // Of a length that is known and allowed, the whole at once costs less than a stream of pieces.
  if (declared > 0) return new Uint8Array(await request.arrayBuffer().catch(throwBrokenOff));
  if (!request.body) return new Uint8Array();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of piecesOf(request.body)) {
    size += piece.byteLength;
    if (size > bodyBytesMax) throw tooLarge();
    if (pieces.length === piecesMax)
      throw new DomainError("bad_request", "The body comes in too many pieces.");
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

async function* piecesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch {
    throwBrokenOff();
  }
}

function throwBrokenOff(): never {
  throw new DomainError("bad_request", "The body breaks off.");
}

/**
 * The JSON value of the request's body. One that cannot be read is returned as `UnreadableBody`, because a refusal of
 * the body comes after those of visibility and permission: `checkOf` throws it then.
 * @throws DomainError `too_large`.
 */
export async function readJson(request: Request): Promise<unknown> {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    return new UnreadableBody(
      new DomainError("unsupported_media_type", "Send the body as it is, without a Content-Encoding."),
    );
  }
  const value = parseJson(await readBytes(request));
  if (value instanceof UnreadableBody || isJsonType(request.headers.get("content-type"))) return value;
  return new UnreadableBody(
    new DomainError(
      "unsupported_media_type",
      "Send the body with Content-Type: application/json (in UTF-8).",
    ),
  );
}

function isJsonType(header: string | null): boolean {
  if (header === null || header === "") return true;
  const [type = "", ...parameters] = header.toLowerCase().split(";");
  if (type.trim() !== "application/json") return false;
  return parameters.every((parameter) => {
    const [name, value] = parameter.split("=");
    return name?.trim() !== "charset" || /^"?utf-?8"?$/.test(value?.trim() ?? "");
  });
}

function tooLarge(): DomainError {
  return new DomainError("too_large", `The body must not be larger than ${bodyBytesMax / 1024} KiB.`);
}
