import { dlopen } from "bun:ffi";

/** `POLLOUT` of poll.h: there is room to write. */
const pollOut = 4;

/**
 * Asks whether a write to the descriptor would return at once, for `waitMs` milliseconds at most: poll(2), which neither
 * Bun nor Node has. True also for a descriptor that no write can succeed on, which returns at once too. A pipe or socket
 * that is ready has room for a page (4 KiB) at least.
 */
export function isReadyForWriting(descriptor: number, waitMs = 0): boolean {
  asked[0] = descriptor;
  return libc().symbols.poll(asked, 1, waitMs) > 0;
}

/** A `struct pollfd`: the descriptor, and what is asked of it with the place for the answer. */
const asked = new Int32Array([0, pollOut]);

// Loaded with its first use: only a server writes a log.
let loaded: ReturnType<typeof load> | undefined;

function libc() {
  return (loaded ??= load());
}

function load() {
  return dlopen(process.platform === "darwin" ? "libSystem.B.dylib" : "libc.so.6", {
    poll: { args: ["ptr", "u64", "i32"], returns: "i32" },
  });
}
