import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { writeFully } from "../database/snapshot.ts";
import { DomainError } from "../errors.ts";
import { version } from "../version.ts";
import { type Manifest, parseManifest } from "./manifest.ts";
import { readTarHeader, tarBytes, tarEndBytes, type TarEntry, tarHeader, tarHeaderBytes } from "./tar.ts";

// A backup is a tar file with three entries in this order, so that it can also be unpacked and checked by hand
// (`tar xf`, `sha256sum -c SHA256SUMS`). The database comes first because it is written while it is copied, and what is
// known only then follows it. We write and read the format ourselves: each byte has to be the one that we would write,
// padding included, so that no flipped bit goes unnoticed; tar libraries skip over most of what they do not need.
const databaseName = "parley.db";
const manifestName = "manifest.json";
const sumsName = "SHA256SUMS";

/** Where the content of the database begins in the file. */
export const databaseOffset = tarHeaderBytes;

/** Larger manifests and lists of sums are none of ours, in bytes. */
const textBytesMax = 1024 * 1024;

const chunkBytes = 1024 * 1024;

/** Writes everything but the content of the database, which is in the file already, from `databaseOffset` on. */
export function finishArchive(descriptor: number, manifest: Manifest): number {
  const seconds = Math.floor(Date.parse(manifest.created_at) / 1000);
  const { bytes, sha256 } = manifest.database;
  writeFully(descriptor, tarHeader({ name: databaseName, bytes, seconds }), 0);
  const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
  const sums = Buffer.from(sumsText(sha256, sha256Of(text)));
  let at = tarBytes(bytes);
  for (const [name, content] of [
    [manifestName, text],
    [sumsName, sums],
  ] as const) {
    const entry = Buffer.alloc(tarBytes(content.length));
    tarHeader({ name, bytes: content.length, seconds }).copy(entry);
    content.copy(entry, tarHeaderBytes);
    writeFully(descriptor, entry, at);
    at += entry.length;
  }
  writeFully(descriptor, Buffer.alloc(tarEndBytes), at);
  return at + tarEndBytes;
}

/** A backup whose manifest is checked. */
export type Archive = Disposable & {
  path: string;
  manifest: Manifest;
  bytes: number;
  /**
   * Copies the database into an open file.
   * @throws DomainError `invalid` if it is not what it was when the backup was made.
   */
  extractDatabase(target: number, onProgress?: (done: number, total: number) => void): Promise<void>;
};

/**
 * Opens a backup and checks everything in it but the content of the database.
 * @throws DomainError `not_found` without such a file; `invalid` for a file that is no backup, cut off, damaged or
 *   of a format that this version does not know.
 */
export function openArchive(path: string): Archive {
  const descriptor = openRegularFile(path);
  try {
    const bytes = fstatSync(descriptor).size;
    const read = (at: number, length: number) => readFully(descriptor, at, length);
    const database = readTarHeader(read(0, tarHeaderBytes));
    if (database?.name !== databaseName) {
      throw new DomainError("invalid", `${path} is no backup made by parley, or its beginning is damaged.`);
    }
    const manifestAt = tarBytes(database.bytes);
    const manifest = readEntry(read, { path, at: manifestAt, bytes, name: manifestName });
    const sums = readEntry(read, { path, at: manifest.end, bytes, name: sumsName });
    requireEnd(path, bytes, sums.end, read(sums.end, tarEndBytes));
    const parsed = parseManifest(manifest.content.toString());
    const listed = sums.content.toString("latin1");
    const sha256 = parsed && "manifest" in parsed ? parsed.manifest.database.sha256 : listed.slice(0, 64);
    if (!parsed || listed !== sumsText(sha256, sha256Of(manifest.content))) throw damaged(path, manifestName);
    if (!("manifest" in parsed)) throw tooNew(path, parsed);
    if (parsed.manifest.database.bytes !== database.bytes) throw damaged(path, manifestName);
    return {
      path,
      bytes,
      manifest: parsed.manifest,
      extractDatabase: (target, onProgress) =>
        extract(descriptor, target, { path, database, sha256, ...(onProgress && { onProgress }) }),
      [Symbol.dispose]: () => closeSync(descriptor),
    };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

function openRegularFile(path: string): number {
  let descriptor: number;
  try {
    // Without waiting, in case it is a pipe.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new DomainError("not_found", `Cannot open the backup ${path}: ${why}`);
  }
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw new DomainError("invalid", `${path} is not a regular file.`);
}

/** Fewer bytes where the file ends. */
function readFully(descriptor: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let read = 0;
  while (read < length) {
    const more = readSync(descriptor, bytes, read, length - read, at + read);
    if (more === 0) break;
    read += more;
  }
  return bytes.subarray(0, read);
}

/** The content of an entry and where the next entry begins. */
function readEntry(
  read: (at: number, length: number) => Buffer,
  { path, at, bytes, name }: { path: string; at: number; bytes: number; name: string },
): { content: Buffer; end: number } {
  if (at + tarHeaderBytes > bytes) throw cutOff(path, bytes);
  const entry = readTarHeader(read(at, tarHeaderBytes));
  if (entry?.name !== name || entry.bytes > textBytesMax) throw damaged(path, name);
  const end = at + tarBytes(entry.bytes);
  if (end > bytes) throw cutOff(path, bytes);
  const content = read(at + tarHeaderBytes, end - at - tarHeaderBytes);
  if (content.subarray(entry.bytes).some((byte) => byte !== 0)) throw damaged(path, name);
  return { content: content.subarray(0, entry.bytes), end };
}

function requireEnd(path: string, bytes: number, end: number, zeros: Buffer): void {
  if (bytes < end + tarEndBytes) throw cutOff(path, bytes);
  if (bytes > end + tarEndBytes || zeros.some((byte) => byte !== 0)) throw damaged(path, "its end");
}

async function extract(
  descriptor: number,
  target: number,
  options: {
    path: string;
    database: TarEntry;
    sha256: string;
    onProgress?: (done: number, total: number) => void;
  },
): Promise<void> {
  const { path, database, sha256, onProgress } = options;
  const hash = createHash("sha256");
  for (let at = 0; at < database.bytes; at += chunkBytes) {
    const chunk = readFully(descriptor, databaseOffset + at, Math.min(chunkBytes, database.bytes - at));
    hash.update(chunk);
    writeFully(target, chunk, at);
    onProgress?.(at + chunk.length, database.bytes);
    await Bun.sleep(0);
  }
  const padding = readFully(
    descriptor,
    databaseOffset + database.bytes,
    tarBytes(database.bytes) - tarHeaderBytes - database.bytes,
  );
  if (hash.digest("hex") !== sha256 || padding.some((byte) => byte !== 0)) throw damaged(path, databaseName);
}

function sumsText(database: string, manifest: string): string {
  return `${database}  ${databaseName}\n${manifest}  ${manifestName}\n`;
}

function sha256Of(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function cutOff(path: string, bytes: number): DomainError {
  return new DomainError(
    "invalid",
    `${path} is cut off: it ends after ${bytes} bytes, before its list of sums. Copy it again from where it was made, ` +
      "or use another backup. Nothing was changed.",
  );
}

function damaged(path: string, part: string): DomainError {
  return new DomainError(
    "invalid",
    `${path} is damaged: ${part} is not what it was when the backup was made. Copy it again from where it was made, ` +
      "or use another backup. Nothing was changed.",
  );
}

function tooNew(path: string, { format, parley }: { format: number; parley: string }): DomainError {
  return new DomainError(
    "invalid",
    `${path} was made by parley ${parley} in format ${format}, which this version, ${version}, does not know. Nothing ` +
      "was changed. Install that version or a later one, then try again.",
  );
}
