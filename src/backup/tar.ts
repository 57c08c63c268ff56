const blockBytes = 512;

/** The largest size that twelve octal digits less one can hold; beyond it GNU's binary form is used. */
const octalMax = 8 ** 11 - 1;

/** An entry of a tar file. */
export type TarEntry = { name: string; bytes: number; seconds: number };

/** The header of an entry (POSIX ustar): a regular file that only its owner may read. */
export function tarHeader({ name, bytes, seconds }: TarEntry): Buffer {
  const header = Buffer.alloc(blockBytes);
  header.write(name, 0, 100, "latin1");
  header.write("0000600\0", 100, "latin1");
  header.write("0000000\0", 108, "latin1");
  header.write("0000000\0", 116, "latin1");
  if (bytes <= octalMax) {
    header.write(`${bytes.toString(8).padStart(11, "0")}\0`, 124, "latin1");
  } else {
    header[124] = 0x80;
    header.writeBigUInt64BE(BigInt(bytes), 128);
  }
  header.write(`${seconds.toString(8).padStart(11, "0")}\0`, 136, "latin1");
  header.write("0", 156, "latin1");
  header.write("ustar\0" + "00", 257, "latin1");
  // The checksum is that of the header with spaces in its place.
  header.fill(" ", 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return header;
}

/** The entry that the header describes; undefined unless `tarHeader` would write exactly these bytes. */
export function readTarHeader(header: Buffer): TarEntry | undefined {
  const name = header.toString("latin1", 0, header.indexOf(0));
  const octal = (at: number) => Number.parseInt(header.toString("latin1", at, at + 11), 8);
  const bytes = header[124] === 0x80 ? Number(header.readBigUInt64BE(128)) : octal(124);
  const entry = { name, bytes, seconds: octal(136) };
  const isSound = name.length <= 100 && Number.isSafeInteger(bytes) && Number.isSafeInteger(entry.seconds);
  return isSound && tarHeader(entry).equals(header) ? entry : undefined;
}

/** The number of bytes that entries of this size take, with the header and the padding. */
export function tarBytes(bytes: number): number {
  return blockBytes + Math.ceil(bytes / blockBytes) * blockBytes;
}

/** The size of a header in bytes. */
export const tarHeaderBytes = blockBytes;

/** The size in bytes of the zeros that end a tar file. */
export const tarEndBytes = 2 * blockBytes;
