import { constants } from "node:os";
import { CString, dlopen, FFIType, type Pointer, read } from "bun:ffi";

/**
 * The names of the C library (musl names its library after its loader), and its function that returns the address of
 * errno.
 */
const musl = `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
const libraries = process.platform === "darwin" ? ["libSystem.B.dylib"] : ["libc.so.6", musl];
const errnoAddress = process.platform === "darwin" ? "__error" : "__errno_location";

const lockShared = 1;
const lockExclusive = 2;
const lockWithoutWaiting = 4;

const { EBADF, EINVAL, ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP } = constants.errno;
const unsupported = new Set([EBADF, EINVAL, ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP]);

/** `POLLOUT` of poll.h: the descriptor has room for a write. */
const pollOut = 4;
/** A `struct pollfd`: the descriptor, and the requested events with room for the returned ones. */
const pollDescriptor = new Int32Array([0, pollOut]);

/** `RLIMIT_CORE` of sys/resource.h. */
const coreLimit = 4;

let library: ReturnType<typeof openLibrary> | undefined;

/**
 * Takes the operating system's lock (flock) on the file or folder that the descriptor refers to. The lock ends with
 * the descriptor, or with the process however that ends. Several processes can hold a shared lock, but none while
 * another holds an exclusive one. Returns `taken` when another process holds it, and `unsupported` when the file system
 * has no such locks.
 */
export function lockDescriptor(
  descriptor: number,
  kind: "exclusive" | "shared" = "exclusive",
): "held" | "taken" | "unsupported" {
  const loaded = (library ??= openLibrary());
  const operation = kind === "shared" ? lockShared : lockExclusive;
  if (loaded.flock(descriptor, operation | lockWithoutWaiting) === 0) return "held";
  const errno = read.i32(loaded[errnoAddress]?.() as Pointer);
  return unsupported.has(errno) ? "unsupported" : "taken";
}

/**
 * Whether a write to the descriptor would return at once (poll), waiting up to `waitMs` milliseconds for that. Also
 * true for a descriptor that every write fails on, because that returns at once too. A pipe or socket that is ready
 * has room for at least a page (4 KiB).
 */
export function isReadyForWriting(descriptor: number, waitMs = 0): boolean {
  pollDescriptor[0] = descriptor;
  return (library ??= openLibrary()).poll(pollDescriptor, 1, waitMs) > 0;
}

/** The login name of a user id; undefined when the system knows none. */
export function loginNameOf(uid: number): string | undefined {
  const entry = (library ??= openLibrary()).getpwuid(uid);
  // The name is the first member of `struct passwd` on every platform.
  return entry === null ? undefined : new CString(read.ptr(entry) as Pointer).toString() || undefined;
}

/** Prevents core dumps, which would write this process's memory, with its keys and tokens, to disk. */
export function forbidCoreDumps(): void {
  (library ??= openLibrary()).setrlimit(coreLimit, new BigUint64Array([0n, 0n]));
}

/** Ends the process immediately, without closing anything first. */
export function exitAtOnce(status: number): void {
  (library ??= openLibrary())._exit(status);
}

function openLibrary() {
  for (const name of libraries) {
    try {
      return dlopen(name, {
        flock: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
        [errnoAddress]: { args: [], returns: FFIType.ptr },
        poll: { args: [FFIType.ptr, FFIType.u64, FFIType.i32], returns: FFIType.i32 },
        setrlimit: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
        getpwuid: { args: [FFIType.u32], returns: FFIType.ptr },
        _exit: { args: [FFIType.i32], returns: FFIType.void },
      }).symbols;
    } catch {
      // Try the next name.
    }
  }
  throw new Error(`The C library of this system is none of ${libraries.join(", ")}.`);
}
