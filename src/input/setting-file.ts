import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { isAbsolute } from "node:path";

/** What a file that a setting names is to hold, as a noun, and how much of it at most. */
type Expected = { what: string; bytesMax: number };

/**
 * The text of a file that a setting names, without the newline at its end; or why it cannot be used and what to do, as
 * the end of a sentence that begins with its path. A link is followed, because mounted files often are links. Never
 * waits: a pipe or a device is refused.
 */
export function readSettingFile(path: string, expected: Expected): { text: string } | { problem: string } {
  // The folder that a program is started in depends on who starts it.
  if (!isAbsolute(path)) return { problem: "is not an absolute path. Begin it with a slash" };
  let file: number | undefined;
  try {
    // Without blocking, in case it is a pipe.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!fstatSync(file).isFile()) {
      return { problem: `is not a regular file. Write the ${expected.what} to one` };
    }
    return readAll(file, expected);
  } catch (error) {
    return { problem: `cannot be read (${error instanceof Error ? error.message : String(error)})` };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function readAll(file: number, { what, bytesMax }: Expected): { text: string } | { problem: string } {
  const bytes = Buffer.alloc(bytesMax + 1);
  let length = 0;
  while (length < bytes.length) {
    const read = readSync(file, bytes, length, bytes.length - length, null);
    if (read === 0) break;
    length += read;
  }
  if (length > bytesMax) return { problem: `is over ${bytesMax} bytes, too large for a ${what}` };
  const text = bytes.toString("utf8", 0, length).replace(/\r?\n$/, "");
  return text === "" ? { problem: `is empty. Write the ${what} to it` } : { text };
}
