import { constants } from "node:os";
import { dlopen, FFIType, type Pointer, read } from "bun:ffi";

/** What the C library is called, with musl after its loader, and the function of it that says where errno is. */
const musl = `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
const libraries = process.platform === "darwin" ? ["libSystem.B.dylib"] : ["libc.so.6", musl];
const whereErrnoIs = process.platform === "darwin" ? "__error" : "__errno_location";

const lockExclusive = 2;
const lockWithoutWaiting = 4;

const { EBADF, EINVAL, ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP } = constants.errno;
const unsupported = new Set([EBADF, EINVAL, ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP]);

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
        _exit: { args: [FFIType.i32], returns: FFIType.void },
      }).symbols;
    } catch {
      // It has the next name, then.
    }
  }
  throw new Error(`The C library of this system is none of ${libraries.join(", ")}.`);
}
