import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join, sep } from "node:path";
import { freeBytes, lowBytes } from "../system/disk-space.ts";
import { explainDataError } from "../system/data-errors.ts";
import { type Finding, failed, ok, type Patient, reasonOf, warning } from "./finding.ts";

/** How often the flush is measured, and for how long at most, in milliseconds. */
const flushes = 20;
const flushingMsMax = 2_000;
/** Every change waits for a flush, so slower ones are felt, in milliseconds. */
const slowFlushMs = 50;

const mega = 1_000_000;
const freeMin = 100 * mega;

/** File systems of other machines, whose locks and flushes cannot be relied on, and of programs. */
const remote =
  /^(?:nfs\d?|cifs|smb\d?|smbfs|9p|afs|ceph|glusterfs|lustre|fuse(?:\..+)?|vboxsf|virtiofs|davfs)$/;

/** Checks what kind of file system the data is on. Says nothing where the system has no list of mounts. */
export function checkFileSystem({ dataDir }: Patient): Finding[] {
  const check = "file system";
  const type = fileSystemOf(dataDir);
  if (type === undefined) return [];
  if (remote.test(type)) {
    return [
      warning(
        check,
        `The data folder is on ${type}, where locks and flushes may not hold: two servers could use it at once, and a power cut could damage it.`,
        "Move the data folder to a disk of this machine.",
      ),
    ];
  }
  if (type === "tmpfs" || type === "ramfs") {
    return [
      warning(
        check,
        `The data folder is in memory (${type}): it is gone after a restart of the machine.`,
        "Move the data folder to a disk.",
      ),
    ];
  }
  if (type === "overlay") {
    return [
      warning(
        check,
        "The data folder is inside a container (overlay): it is gone with the container.",
        "Mount a volume for the data folder.",
      ),
    ];
  }
  return [ok(check, type)];
}

/** Measures how long a flush takes, on a file that has no name while it is written. */
export function checkFlush({ dataDir }: Patient): Finding[] {
  const check = "flush";
  const path = join(dataDir, `doctor-${crypto.randomUUID()}.probe`);
  const times: number[] = [];
  try {
    const file = openSync(path, "wx", 0o600);
    try {
      // From here on nothing is left behind, however this ends.
      rmSync(path);
      const page = new Uint8Array(4_096);
      const deadline = performance.now() + flushingMsMax;
      while (times.length < flushes && performance.now() < deadline) {
        const startedAt = performance.now();
        writeSync(file, page, 0, page.length, 0);
        fsyncSync(file);
        times.push(performance.now() - startedAt);
      }
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return [failed(check, reasonOf(explainDataError(error, dataDir)))];
  }
  times.sort((a, b) => a - b);
  const typical = times[Math.floor(times.length / 2)] ?? 0;
  const found = `a flush takes ${milliseconds(typical)}, the slowest of ${times.length} took ${milliseconds(times.at(-1) ?? 0)}`;
  if (typical <= slowFlushMs) return [ok(check, found)];
  return [
    warning(
      check,
      `Slow: ${found}. Every change waits for one.`,
      "Use a local SSD, and look for what else writes to this disk.",
    ),
  ];
}

/** Checks that the disk has room: for the data to grow, and for a copy of it. */
export function checkSpace({ dataDir }: Patient): Finding[] {
  const check = "disk space";
  const free = freeBytes(dataDir);
  const size = statSync(join(dataDir, "parley.db"), { throwIfNoEntry: false })?.size ?? 0;
  const found = `${megabytes(free)} free`;
  if (free < freeMin) {
    return [failed(check, `Only ${found}: soon nothing can be written.`, "Make room on the disk.")];
  }
  if (free < lowBytes) return [warning(check, `Only ${found}.`, "Make room on the disk.")];
  if (free < size) {
    return [
      warning(
        check,
        `${found}, less than the database has (${megabytes(size)}): there is no room for a copy of it.`,
        "Make room on the disk before the next upgrade or backup.",
      ),
    ];
  }
  return [ok(check, found)];
}

/** The type of the file system that the path is on, from the mount with the longest matching path. */
function fileSystemOf(path: string): string | undefined {
  let mounts: string;
  let real: string;
  try {
    mounts = readFileSync("/proc/self/mountinfo", "utf8");
    real = realpathSync(path);
  } catch {
    return undefined;
  }
  let longest = { point: "", type: undefined as string | undefined };
  for (const line of mounts.split("\n")) {
    const [, point, type] = /^\S+ \S+ \S+ \S+ (\S+) .*? - (\S+) /.exec(line) ?? [];
    if (point === undefined || type === undefined) continue;
    // Spaces in paths are written as \040.
    const mountedAt = point.replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    const isAbove =
      real === mountedAt || real.startsWith(mountedAt.endsWith(sep) ? mountedAt : mountedAt + sep);
    // A later mount at the same place hides the earlier one.
    if (isAbove && mountedAt.length >= longest.point.length) longest = { point: mountedAt, type };
  }
  return longest.type;
}

function milliseconds(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / mega).toLocaleString("en")} MB`;
}
