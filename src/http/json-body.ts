import { DomainError } from "../errors.ts";
import { parseJson, UnreadableBody } from "../input/json.ts";

/** No request of the API and no incoming webhook needs more (decisions, section 1). */
export const bodyBytesMax = 1024 * 1024;

/** Pieces smaller than 64 bytes on the average are made to cost us time, not to bring us something. */
const piecesMax = bodyBytesMax / 64;

/**
 * Reads the whole body, at most 1 MiB of it. What is not read is thrown away as it comes, so the sender gets to see the
 * refusal while it still sends, and can use the connection again; one that stalls is hung up on after ten seconds.
 * @throws DomainError `too_large`; `bad_request` when the sender breaks off or sends crumbs.
 */
export function readBytes(request: Request): Promise<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  // Of a length that is known and allowed, the whole at once costs less than a stream of pieces.
  return declared > 0 && declared <= bodyBytesMax
    ? request.arrayBuffer().then((buffer) => new Uint8Array(buffer), throwBrokenOff)
    : readPieces(request, declared);
}

async function readPieces(request: Request, declared: number): Promise<Uint8Array> {
  if (declared > bodyBytesMax) throw tooLarge();
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

/** What stands for a body that is not even read, because of the encoding that its headers name. */
export function unreadEncoding(headers: Headers): UnreadableBody | undefined {
  const encoding = headers.get("content-encoding");
  if (encoding === null || encoding.toLowerCase() === "identity") return undefined;
  return new UnreadableBody(
    new DomainError("unsupported_media_type", "Send the body as it is, without a Content-Encoding."),
  );
}

/**
 * The JSON value of a body that came under these headers. One that cannot be read is returned as `UnreadableBody`,
 * because a refusal of the body comes after those of visibility and permission: `checkOf` throws it then.
 */
export function jsonOf(headers: Headers, bytes: Uint8Array): unknown {
  const value = parseJson(bytes);
  if (value instanceof UnreadableBody || isJsonType(headers.get("content-type"))) return value;
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
