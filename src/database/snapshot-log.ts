import { readSync } from "node:fs";

const headerBytes = 32;
const frameHeaderBytes = 24;
const littleEndianMagic = 0x377f0682;
const bigEndianMagic = 0x377f0683;
const framesPerRead = 256;

/** What a write-ahead log holds of committed pages. */
export type CommittedPages = {
  /** The number of pages of the database after the last commit. */
  pageCount: number;
  /** For each page in the log, by its number from 1, where its latest committed content begins in the log's file. */
  offsets: Map<number, number>;
  /** The log's header: another one means that the log has begun anew. */
  header: Buffer;
};

/**
 * Reads which pages the write-ahead log holds, up to its last commit. Every frame is verified by its checksum, as SQLite
 * does when it recovers (https://www.sqlite.org/walformat.html), because another process may be writing the next one.
 * Undefined when the log has no commit.
 */
export function readCommittedPages(descriptor: number): CommittedPages | undefined {
  const header = readLogHeader(descriptor);
  const magic = header?.readUInt32BE(0);
  if (!header || (magic !== littleEndianMagic && magic !== bigEndianMagic)) return undefined;
  const isSwapped = magic === bigEndianMagic;
  const sum = new Checksum(isSwapped);
  sum.add(header.subarray(0, 24));
  if (!sum.equals(header, 24)) return undefined;

  const pageBytes = header.readUInt32BE(8);
  const frameBytes = frameHeaderBytes + pageBytes;
  const offsets = new Map<number, number>();
  const uncommitted = new Map<number, number>();
  let pageCount = 0;
  const frames = Buffer.alloc(framesPerRead * frameBytes);
  for (let at = headerBytes; ; at += frames.length) {
    const read = readSync(descriptor, frames, 0, frames.length, at);
    for (let start = 0; start + frameBytes <= read; start += frameBytes) {
      const frame = frames.subarray(start, start + frameBytes);
      sum.add(frame.subarray(0, 8));
      sum.add(frame.subarray(frameHeaderBytes));
      if (!frame.subarray(8, 16).equals(header.subarray(16, 24)) || !sum.equals(frame, 16))
        return pageCount > 0 ? { pageCount, offsets, header } : undefined;
      uncommitted.set(frame.readUInt32BE(0), at + start + frameHeaderBytes);
      const pageCountAfterCommit = frame.readUInt32BE(4);
      if (pageCountAfterCommit === 0) continue;
      pageCount = pageCountAfterCommit;
      for (const [page, offset] of uncommitted) offsets.set(page, offset);
      uncommitted.clear();
    }
    if (read < frames.length) return pageCount > 0 ? { pageCount, offsets, header } : undefined;
  }
}

/** The header of the log; undefined while it is empty. */
export function readLogHeader(descriptor: number): Buffer | undefined {
  const header = Buffer.alloc(headerBytes);
  return readSync(descriptor, header, 0, headerBytes, 0) === headerBytes ? header : undefined;
}

/** The cumulative checksum of a write-ahead log. */
class Checksum {
  readonly #isBigEndian: boolean;
  #first = 0;
  #second = 0;

  constructor(isBigEndian: boolean) {
    this.#isBigEndian = isBigEndian;
  }

  /** Adds bytes, a multiple of eight. */
  add(bytes: Buffer): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let first = this.#first;
    let second = this.#second;
    for (let at = 0; at < bytes.length; at += 8) {
      first = (first + view.getUint32(at, !this.#isBigEndian) + second) | 0;
      second = (second + view.getUint32(at + 4, !this.#isBigEndian) + first) | 0;
    }
    this.#first = first;
    this.#second = second;
  }

  /** Whether the checksum is the one that the bytes hold at the offset. */
  equals(bytes: Buffer, offset: number): boolean {
    return bytes.readInt32BE(offset) === this.#first && bytes.readInt32BE(offset + 4) === this.#second;
  }
}
