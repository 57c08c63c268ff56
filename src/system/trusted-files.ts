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

/** What others can access, and the command that ends it, in a sentence. */
type Exposure = { path: string; reason: string };

const writableByOthers = 0o022;
const writableByAll = 0o002;
const accessibleToAll = 0o007;

/**
 * Rejects a symbolic link in place of a file of the data folder: writing through it would change whatever file it
 * points to, chosen by anybody who could create the link. Checked before SQLite opens the database, because SQLite
 * follows links and bun:sqlite offers no way to prevent that. The folder itself may be a link.
 * @throws DomainError `invalid`.
 */
export function requireNoLink(path: string): void {
  if (isLink(path)) throw symbolicLinkError(path);
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    // There is no file, or it is not accessible, which opening it will report.
    return false;
  }
}

/** The error for a symbolic link, with the remedies; `setting` is a setting that can hold the file's text instead. */
export function symbolicLinkError(path: string, setting?: string): DomainError {
  const instead = setting === undefined ? "" : `, set ${setting} to its content`;
  return new DomainError(
    "invalid",
    `${path} is a symbolic link, which parley does not follow to its own files. Put the file itself there${instead}; ` +
      "or, if the data is elsewhere, name that folder with --data-dir DIR or PARLEY_DATA_DIR, which may be a link.",
  );
}

/**
 * The text of a file that nobody else can have written: it belongs to this login, to root or to the owner of the
 * folder (who could replace the database too), and only its owner may write to it. Undefined when the file does not
 * exist. `setting` is the setting that can hold the text instead, for mounts that fix the owner and mode of files.
 * @throws DomainError `invalid` for any other file, with the remedies; the operating system's error.
 */
export function readTrusted(path: string, setting: string): string | undefined {
  if (isLink(path)) throw symbolicLinkError(path, setting);
  if (!existsSync(path)) return undefined;
  // Without blocking, in case it has become a pipe.
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
  const isTrustedOwner = uid === 0 || uid === owner || uid === process.geteuid?.();
  const isWritableByOthers = (mode & writableByOthers) !== 0;
  if (isTrustedOwner && !isWritableByOthers) return;
  const faults = [
    ...(isTrustedOwner ? [] : [`belongs to ${loginName(uid)}`]),
    ...(isWritableByOthers ? [`is writable by others (mode ${octalMode(mode)})`] : []),
  ];
  const remedies = [
    ...(isTrustedOwner ? [] : [`chown ${loginName(owner)} ${shellQuoted(path)}`]),
    ...(isWritableByOthers ? [`chmod go-w ${shellQuoted(path)}`] : []),
  ];
  throw new DomainError(
    "invalid",
    `${path} ${faults.join(" and ")}, so it is not trusted. If its content is right, set ${setting} to it ` +
      `(if a mount fixes owners and modes), or run: ${remedies.join(" && ")}`,
  );
}

/**
 * What other logins can access in the data folder although they should not. This is only a warning. Group access is
 * taken as intended.
 */
export function findExposed(dataDir: string, keyPath: string): Exposure[] {
  const exposed: Exposure[] = [];
  if ((statSync(dataDir).mode & writableByAll) !== 0) {
    const reason =
      "Everybody on this machine can add files to the data folder and remove them. To prevent that: ";
    exposed.push({ path: dataDir, reason: `${reason}chmod o-w ${shellQuoted(dataDir)}` });
  }
  const key = statSync(keyPath, { throwIfNoEntry: false });
  if (key && (key.mode & accessibleToAll) !== 0) {
    const reason = `Everybody on this machine can access the key of all signing secrets (mode ${octalMode(key.mode)}).`;
    exposed.push({ path: keyPath, reason: `${reason} To prevent that: chmod o= ${shellQuoted(keyPath)}` });
  }
  return exposed;
}

/**
 * Which of the files that hold secrets other logins can access. This is only a warning, since mounts often fix modes.
 */
export function findExposedSecrets(files: ReadonlyArray<{ name: string; path: string }>): Exposure[] {
  return files.flatMap(({ name, path }) => {
    const { mode } = statSync(path, { throwIfNoEntry: false }) ?? { mode: 0 };
    if ((mode & accessibleToAll) === 0) return [];
    const reason = `Everybody on this machine can access the file of ${name} (mode ${octalMode(mode)}).`;
    return [{ path, reason: `${reason} To prevent that: chmod o= ${shellQuoted(path)}` }];
  });
}

function loginName(uid: number): string {
  return loginNameOf(uid) ?? `${uid}`;
}

function octalMode(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}

/** The path quoted for a shell. */
function shellQuoted(path: string): string {
  const full = resolve(path);
  return /^[\w./-]+$/.test(full) ? full : `'${full.replaceAll("'", `'\\''`)}'`;
}
