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
import { DomainError } from "../errors.ts";
import { loginNameOf } from "./libc.ts";

/** What stands open to others, and the command that closes it, in a sentence. */
type Exposure = { path: string; reason: string };

const writableByOthers = 0o022;
const writableByAll = 0o002;
const accessibleToAll = 0o007;

/**
 * Refuses a symbolic link where a file of the data folder is to be: writing through it would change whatever file it names,
 * for whoever could put it there. It is looked for before SQLite opens the database, which follows links and cannot be
 * told otherwise through bun:sqlite. The folder itself may be a link.
 * @throws DomainError `invalid`.
 */
export function requireNoLink(path: string): void {
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

/** The refusal of a symbolic link, with the ways out; `setting` is one that can hold the file's text instead. */
export function linkRefused(path: string, setting?: string): DomainError {
  const instead = setting === undefined ? "" : `, set ${setting} to what it holds`;
  return new DomainError(
    "invalid",
    `${path} is a symbolic link, and parley follows none to its own files. Put the file itself there${instead}; or, where ` +
      "the data lie elsewhere, name that folder with --data-dir DIR or PARLEY_DATA_DIR, which may be a link.",
  );
}

/**
 * The text of a file that nobody else can have written: it belongs to this login, to root or to the owner of the folder,
 * who can exchange the database beside it too, and no one but its owner may write to it. Undefined where there is no such
 * file. `setting` is what can hold the text instead, where a mount fixes the owner and the modes of files.
 * @throws DomainError `invalid` for any other, with the ways out; the operating system's error.
 */
export function readTrusted(path: string, setting: string): string | undefined {
  if (isLink(path)) throw linkRefused(path, setting);
  if (!existsSync(path)) return undefined;
  // Should it be a pipe by now, nobody is waited for.
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    requireTrustedOwner(path, setting, fstatSync(file));
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

function requireTrustedOwner(path: string, setting: string, { uid, mode }: Stats): void {
  const owner = statSync(dirname(path)).uid;
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
    `${path} ${found.join(" and ")}, so it is not believed. If it is the right one, set ${setting} to what it holds ` +
      `(where a mount fixes owners and modes), or run: ${remedies.join(" && ")}`,
  );
}

/** What of the data folder others may use who should not, though nothing is refused for it. A group is let in on purpose. */
export function findExposed(dataDir: string, keyPath: string): Exposure[] {
  const exposed: Exposure[] = [];
  if ((statSync(dataDir).mode & writableByAll) !== 0) {
    const reason =
      "Everybody on this machine may put files into the data folder, and take them away. To end that: ";
    exposed.push({ path: dataDir, reason: `${reason}chmod o-w ${quoted(dataDir)}` });
  }
  const key = statSync(keyPath, { throwIfNoEntry: false });
  if (key && (key.mode & accessibleToAll) !== 0) {
    const reason = `Everybody on this machine may use the key of all signing secrets (mode ${octal(key.mode)}). To end that: `;
    exposed.push({ path: keyPath, reason: `${reason}chmod o= ${quoted(keyPath)}` });
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
