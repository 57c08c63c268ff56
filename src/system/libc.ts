import { constants } from "node:os";
import { CString, dlopen, FFIType, type Pointer, read } from "bun:ffi";

/** What the C library is called, with musl after its loader, and the function of it that says where errno is. */
const musl = `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
const libraries = process.platform === "darwin" ? ["libSystem.B.dylib"] : ["libc.so.6", musl];
const whereErrnoIs = process.platform === "darwin" ? "__error" : "__errno_location";

const lockExclusive = 2;
const lockWithoutWaiting = 4;

const { EBADF, EINVAL, ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP } = constants.errno;
const unsupported = new Set([EBADF, EINVAL, ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP]);

/** `POLLOUT` of poll.h: there is room to write. */
const pollOut = 4;
/** A `struct pollfd`: the descriptor, and what is asked of it with the place for the answer. */
const polled = new Int32Array([0, pollOut]);

/** `RLIMIT_CORE` of sys/resource.h. */
const limitOfCore = 4;

let opened: ReturnType<typeof open> | undefined;

/**
 * Takes the system's lock (flock) on what the descriptor is open for, a folder for one. It ends with the descriptor, or
 * with the process however that ends. Returns `taken` when somebody else has it, and `unsupported` where the file system
 * has no such locks.
 */
export function lockDescriptor(descriptor: number): "held" | "taken" | "unsupported" {
  const library = (opened ??= open());
  if (library.flock(descriptor, lockExclusive | lockWithoutWaiting) === 0) return "held";
  const errno = read.i32(library[whereErrnoIs]?.() as Pointer);
  return unsupported.has(errno) ? "unsupported" : "taken";
}

/**
 * Asks whether a write to the descriptor would return at once (poll), for `waitMs` milliseconds at most. True also for a
 * descriptor that no write can succeed on, which returns at once too. A pipe or socket that is ready has room for a page
 * (4 KiB) at least.
 */
export function isReadyForWriting(descriptor: number, waitMs = 0): boolean {
  polled[0] = descriptor;
  return (opened ??= open()).poll(polled, 1, waitMs) > 0;
}

/** The name of the login that has the number, as the system knows it; undefined where it has none. */
export function loginNameOf(uid: number): string | undefined {
  const entry = (opened ??= open()).getpwuid(uid);
  // The name comes first in a `struct passwd` everywhere.
  return entry === null ? undefined : new CString(read.ptr(entry) as Pointer).toString() || undefined;
}

/** Keeps the system from writing this process's memory, in which keys and tokens are, to disk when it crashes. */
export function forbidCoreDumps(): void {
  (opened ??= open()).setrlimit(limitOfCore, new BigUint64Array([0n, 0n]));
}

/** Ends the process at once: nothing that is open is closed first, as a clean end would. */
export function exitAtOnce(status: number): void {
  (opened ??= open())._exit(status);
}

function open() {
  for (const name of libraries) {
    try {
      return dlopen(name, {
        flock: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
        [whereErrnoIs]: { args: [], returns: FFIType.ptr },
        poll: { args: [FFIType.ptr, FFIType.u64, FFIType.i32], returns: FFIType.i32 },
        setrlimit: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
        getpwuid: { args: [FFIType.u32], returns: FFIType.ptr },
        _exit: { args: [FFIType.i32], returns: FFIType.void },
      }).symbols;
    } catch {
      // It has the next name, then.
    }
  }
  throw new Error(`The C library of this system is none of ${libraries.join(", ")}.`);
}
