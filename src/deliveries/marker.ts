import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import { hasCode } from "../system/error-code.ts";
import { machineHash } from "../system/machine.ts";
import { writeFileOnce } from "../system/on-disk.ts";
import { requireNoLink } from "../system/trusted-files.ts";

// The marker is a small file next to the database: `deliveries-1204.marker`. Its name has the number of the last settled
// attempt, its text says which copy of the workspace made it, and where. When the database is set back, the marker is
// not. The number is in the name because renaming a file is one step that a crash cannot split, and because a folder
// that is copied over another one leaves the other one's newer marker in place.

const markerName = /^deliveries-(\d{1,15})\.marker$/;

/** A marker's text is shorter. */
const bytesMax = 4_096n;

/** How long the number of a settled attempt may wait to be written, in milliseconds. */
const writeEveryMs = 10;

/** Where a server runs. What cannot be known is undefined and never a reason. */
export type Place = {
  machine: string | undefined;
  /** The host of `PARLEY_BASE_URL`, if that is set. */
  host: string | undefined;
};

/** What the text of a marker says. */
type MarkerText = {
  copy: string;
  machine: string | null;
  host: string | null;
  /**
   * When the file was born, in nanoseconds since 1970: moving the file keeps that, and a copy is born later. Null on a
   * file system that does not know.
   */
  born: string | null;
};

/** A marker that was found in a data folder. `text` is undefined when the file does not hold a marker. */
export type Marker = {
  path: string;
  /** The number of the last settled attempt. */
  attempt: number;
  text: MarkerText | undefined;
  /** Whether the file was copied since it was written. */
  isCopied: boolean;
  /** Tells this marker with this number and text from any other. */
  fingerprint: string;
};

/** The place in which this process runs with this base URL. */
export function thisPlace(baseUrl: string): Place {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : undefined;
  return { machine: machineHash(), host };
}

/**
 * The markers in the data folder. There is one, unless files of two folders were mixed.
 * @throws DomainError `invalid` for a symbolic link; the operating system's error.
 */
export function findMarkers(dataDir: string): Marker[] {
  return readdirSync(dataDir).flatMap((name) => {
    const number = markerName.exec(name)?.[1];
    return number === undefined ? [] : [readMarker(join(dataDir, name), Number(number))];
  });
}

function readMarker(path: string, attempt: number): Marker {
  requireNoLink(path);
  // Without blocking, in case it has become a pipe.
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file, { bigint: true });
    const written = stats.isFile() && stats.size <= bytesMax ? readFileSync(file, "utf8") : "";
    const text = parseText(written);
    const born = bornText(stats.birthtimeNs);
    const isCopied = text !== undefined && text.born !== null && text.born !== born;
    const fingerprint = createHash("sha256").update(`${attempt} ${born} ${written}`).digest("hex");
    return { path, attempt, text, isCopied, fingerprint };
  } finally {
    closeSync(file);
  }
}

function parseText(written: string): MarkerText | undefined {
  try {
    const { copy, machine, host, born } = JSON.parse(written) as Record<keyof MarkerText, unknown>;
    if (typeof copy !== "string" || ![machine, host, born].every(isTextOrNull)) return undefined;
    return { copy, machine, host, born } as MarkerText;
  } catch {
    return undefined;
  }
}

function bornText(ns: bigint): string | null {
  return ns === 0n ? null : String(ns);
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}

/** The marker of a running server, which follows the attempts that it settles. */
export class MarkerFile {
  readonly #dataDir: string;
  readonly #onFailure: (error: unknown) => void;
  #written: number;
  #latest: number;
  #timer: Timer | undefined;
  #isGone = false;

  /**
   * Makes the folder's only marker say this: the file that says so already is kept, otherwise a new one is on disk when
   * this returns. `onFailure` is called with each error in renaming it later. No attempt up to `attempt` may be
   * undone.
   * @throws the operating system's error.
   */
  constructor(
    dataDir: string,
    { copy, place, attempt }: { copy: string; place: Place; attempt: number },
    onFailure: (error: unknown) => void,
  ) {
    this.#dataDir = dataDir;
    this.#onFailure = onFailure;
    const { machine = null, host = null } = place;
    const found = findMarkers(dataDir);
    const kept = found.find(
      ({ attempt: number, text, isCopied }) =>
        number <= attempt &&
        !isCopied &&
        text?.copy === copy &&
        text.machine === machine &&
        text.host === host,
    );
    this.#written = kept?.attempt ?? attempt;
    this.#latest = this.#written;
    const path = this.#pathOf(this.#written);
    if (!kept) {
      writeFileOnce(path, (bornNs) => {
        const text: MarkerText = { copy, machine, host, born: bornText(bornNs) };
        return `${JSON.stringify(text)}\n`;
      });
    }
    for (const other of found) if (other.path !== path) rmSync(other.path, { force: true });
    this.settled(attempt);
    this.#write();
  }

  /** Call this with the number of an attempt once it is on disk. It is written within 10 ms, without waiting for a disk. */
  settled(attempt: number): void {
    if (attempt <= this.#latest) return;
    this.#latest = attempt;
    this.#timer ??= setTimeout(() => this.#write(), writeEveryMs);
  }

  /** Writes the latest number now. */
  close(): void {
    this.#write();
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isGone || this.#latest === this.#written) return;
    try {
      renameSync(this.#pathOf(this.#written), this.#pathOf(this.#latest));
      this.#written = this.#latest;
    } catch (error) {
      // Whoever removed it wants the next start to hold deliveries, or has replaced the folder.
      this.#isGone = hasCode(error, "ENOENT");
      this.#onFailure(error);
    }
  }

  #pathOf(attempt: number): string {
    return join(this.#dataDir, `deliveries-${attempt}.marker`);
  }
}
