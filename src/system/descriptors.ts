import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { hasCode } from "./error-code.ts";

/** Enough for deliveries to receivers that respond quickly, and for a few files and DNS look-ups at the same time. */
const keptBackMax = 256;

/** The limit assumed when the system reports none; macOS allows this many to a process without a limit. */
const limitWhenUnknown = 10_240;

/** How the process's file descriptors are divided; the remainder is for client connections. */
export type DescriptorShares = {
  /** The number withheld from clients: a quarter of all, at most 256. */
  keptBack: number;
  /** The maximum number of sockets open for deliveries at once, including idle ones kept alive between deliveries. */
  deliveries: number;
};

/**
 * Divides `limit` descriptors. Bun raises the soft limit to the hard limit at startup, so the soft limit is the one
 * that counts.
 */
export function descriptorShares(limit = descriptorLimit()): DescriptorShares {
  const quarter = Math.floor(limit / 4);
  return { keptBack: Math.min(keptBackMax, quarter), deliveries: Math.floor((quarter * 15) / 16) };
}

/** The maximum number of descriptors of this process. */
function descriptorLimit(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const limit = Number(userLimits?.open_files?.soft);
  return Number.isInteger(limit) && limit > 0 ? limit : limitWhenUnknown;
}

/**
 * Descriptors held open as a reserve, so that client connections cannot take them. Bun accepts connections until the
 * system has no descriptor left.
 */
export class DescriptorReserve {
  readonly size: number;
  readonly #held: number[] = [];

  constructor(size: number) {
    this.size = size;
  }

  /** Refills the reserve as far as possible. Returns whether one more descriptor is free. */
  hold(): boolean {
    try {
      while (this.#held.length < this.size) this.#held.push(openSync(devNull, "r"));
      closeSync(openSync(devNull, "r"));
      return true;
    } catch (error) {
      // Any other error concerns the file and not descriptors: nothing can be held, and nothing is known about free
      // ones.
      return !hasCode(error, "EMFILE", "ENFILE");
    }
  }

  /** Releases the reserve, for the next files or sockets that are opened. */
  letGo(): void {
    for (const descriptor of this.#held.splice(0)) closeSync(descriptor);
  }
}
