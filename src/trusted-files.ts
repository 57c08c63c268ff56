import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  type Stats,
  statSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { DomainError } from "./errors.ts";
import { loginNameOf } from "./libc.ts";

/** What stands open to others, and the command that closes it, in a sentence. */
type Exposure = { path: string; reason: string };

const writableByOthers = 0o022;
const writableByAll = 0o002;
const accessibleToAll = 0o007;
const accessibleToOthers = 0o077;

/**
 * Refuses a symbolic link where a file of the data folder is to be: writing through it would change whatever file it names,
 * for whoever could put it there. It is looked for before SQLite opens the database, which follows links and cannot be
 * told otherwise through bun:sqlite. The folder itself may be a link.
 * @throws DomainError `invalid`.
 */
export function refuseLink(path: string): void {
  if (isLink(path)) throw linkRefused(path);
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    // There is nothing, or nothing that may be looked at, which is said when it is opened.
    return false;
  }
}

/** The refusal of a symbolic link, with the ways out. */
export function linkRefused(path: string): DomainError {
  return new DomainError(
    "invalid",
    `${path} is a symbolic link, and parley follows none to its own files. Put the file itself there; or, where the data lie ` +
      "elsewhere, name that folder with --data-dir DIR or PARLEY_DATA_DIR, which may be a link.",
  );
}

/**
 * The text of a file that nobody else can have written: it belongs to this login or to root, and no one but its owner may
 * write to it. Undefined where there is no such file.
 * @throws DomainError `invalid` for any other, with the commands that mend it; the operating system's error.
 */
export function readTrusted(path: string): string | undefined {
  refuseLink(path);
  if (!existsSync(path)) return undefined;
  // Should it be a pipe by now, nobody is waited for.
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    refuseForeign(path, fstatSync(file));
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

function refuseForeign(path: string, { uid, mode }: Stats): void {
  const owner = ownerOf(dirname(path));
  const isOurs = uid === 0 || uid === owner || uid === process.geteuid?.();
  const isOpen = (mode & writableByOthers) !== 0;
  if (isOurs && !isOpen) return;
  const found = [
    ...(isOurs ? [] : [`belongs to ${named(uid)}`]),
    ...(isOpen ? [`may be written by others (mode ${octal(mode)})`] : []),
  ];
  const remedies = [
    ...(isOurs ? [] : [`chown ${named(owner)} ${quoted(path)}`]),
    ...(isOpen ? [`chmod go-w ${quoted(path)}`] : []),
  ];
  throw new DomainError(
    "invalid",
    `${path} ${found.join(" and ")}, so it is not believed. If it is the right one: ${remedies.join(" && ")}`,
  );
}

/** Who the files in the folder should belong to: this login. Root works for the login that the folder belongs to. */
function ownerOf(folder: string): number {
  const us = process.geteuid?.() ?? 0;
  return us === 0 ? statSync(folder).uid : us;
}

/** What of the data folder others may use who should not, though nothing is refused for it. */
export function findExposed(dataDir: string, keyPath: string): Exposure[] {
  const exposed: Exposure[] = [];
  if ((statSync(dataDir).mode & writableByAll) !== 0) {
    const reason =
      "Everybody on this machine may put files into the data folder, and take them away. To end that: ";
    exposed.push({ path: dataDir, reason: `${reason}chmod o-w ${quoted(dataDir)}` });
  }
  const key = statSync(keyPath, { throwIfNoEntry: false });
  if (!key) return exposed;
  // One that is root's can be meant for this login by its group.
  const isOwn = key.uid === ownerOf(dataDir);
  if ((key.mode & (isOwn ? accessibleToOthers : accessibleToAll)) !== 0) {
    const reason = `Others than this login may use the key of all signing secrets (mode ${octal(key.mode)}). To end that: `;
    exposed.push({ path: keyPath, reason: `${reason}chmod ${isOwn ? "go=" : "o="} ${quoted(keyPath)}` });
  }
  return exposed;
}

function named(uid: number): string {
  return loginNameOf(uid) ?? `${uid}`;
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}

/** The path as a shell takes it, whatever is in it. */
function quoted(path: string): string {
  const full = resolve(path);
  return /^[\w./-]+$/.test(full) ? full : `'${full.replaceAll("'", `'\\''`)}'`;
}
