import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { hasCode } from "./error-code.ts";

/** Enough for the deliveries to receivers that answer quickly, and for a few files and look-ups of names beside them. */
const keptBackMax = 256;

/** What macOS gives a process that may have any number, and what is taken for the limit where the system tells none. */
const limitWhenUnknown = 10_240;

/** Who may have how many of the process's file descriptors; the rest is for the connections of clients. */
export type DescriptorShares = {
  /** So many no client gets: a quarter of all, 256 at most. */
  keptBack: number;
  /** How many sockets deliveries may have open at once, those that rest between two of them included. */
  deliveries: number;
};

/**
 * The shares of `limit` descriptors. Bun raises the soft limit to the hard one when it starts, so that is the limit
 * that counts.
 */
export function descriptorShares(limit = descriptorLimit()): DescriptorShares {
  const quarter = Math.floor(limit / 4);
  return { keptBack: Math.min(keptBackMax, quarter), deliveries: Math.floor((quarter * 15) / 16) };
}

/** How many descriptors the process may have. */
function descriptorLimit(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const limit = Number(userLimits?.open_files?.soft);
  return Number.isInteger(limit) && limit > 0 ? limit : limitWhenUnknown;
}

/**
 * Descriptors that are held open for nothing, so that no connection of a client takes them. The system gives out every
 * other one before it refuses, and Bun accepts connections until it does.
 */
export class DescriptorReserve {
  readonly size: number;
  readonly #held: number[] = [];

  constructor(size: number) {
    this.size = size;
  }

  /** Holds as many as it should, or as there are. Returns whether one more is free. */
  hold(): boolean {
    try {
      while (this.#held.length < this.size) this.#held.push(openSync(devNull, "r"));
      closeSync(openSync(devNull, "r"));
      return true;
    } catch (error) {
      // For want of the file, and not of a descriptor, nothing can be held and nothing be said of what is free.
      return !hasCode(error, "EMFILE", "ENFILE");
    }
  }

  /** Gives them all to whoever opens something next. */
  letGo(): void {
    for (const descriptor of this.#held.splice(0)) closeSync(descriptor);
  }
}
