import { readSettingFile } from "./setting-file.ts";

/** The maximum size of a secret in a file, in bytes. */
export const secretBytesMax = 4_096;

/**
 * The text of a file that holds one secret, without the newline at its end; or why it cannot be used and what to do, as
 * the end of a sentence that begins with its path.
 */
export function readSecretFile(path: string): { text: string } | { problem: string } {
  return readSettingFile(path, { what: "secret", bytesMax: secretBytesMax });
}
