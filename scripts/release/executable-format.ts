import { closeSync, openSync, readSync } from "node:fs";

export type ExecutableFormat = `${"ELF" | "Mach-O" | "PE"} ${"x64" | "arm64"}`;

/** Which system and processor the executable is for, by its header; undefined for anything that no release contains. */
export function executableFormat(path: string): ExecutableFormat | undefined {
  const header = Buffer.alloc(4_096);
  const file = openSync(path, "r");
  try {
    readSync(file, header);
  } finally {
    closeSync(file);
  }
  if (header.readUInt32BE(0) === 0x7f454c46) return named("ELF", header.readUInt16LE(18), 62, 183);
  if (header.readUInt32LE(0) === 0xfeedfacf) {
    return named("Mach-O", header.readUInt32LE(4), 0x01000007, 0x0100000c);
  }
  const pe = header.readUInt32LE(0x3c);
  if (header.toString("latin1", 0, 2) !== "MZ" || pe + 6 > header.length) return undefined;
  if (header.toString("latin1", pe, pe + 4) !== "PE\0\0") return undefined;
  return named("PE", header.readUInt16LE(pe + 4), 0x8664, 0xaa64);
}

function named(
  format: "ELF" | "Mach-O" | "PE",
  machine: number,
  x64: number,
  arm64: number,
): ExecutableFormat | undefined {
  if (machine === x64) return `${format} x64`;
  return machine === arm64 ? `${format} arm64` : undefined;
}
