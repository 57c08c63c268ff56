import { resolve } from "node:path";
import { Option } from "commander";
import { DomainError } from "../../src/errors.ts";
import { readSettingFile } from "../../src/input/setting-file.ts";
import { readStandardInput } from "./standard-input.ts";

/** The options of a command that sets headers. */
export type HeaderOptions = { header?: string[]; headerFile?: string; secretStdin?: true };

/** More than the headers of a subscription may come to. */
const fileBytesMax = 16_384;

/** The options for headers of a subscription's own. An argument shows its value to whoever lists the processes. */
export function headerOptions(): [Option, Option] {
  return [
    new Option(
      "--header <header...>",
      "header to send as well, 'Name: value'; repeatable, and visible to others on this machine",
    ),
    new Option(
      "--header-file <file>",
      "the same from a file, one header a line, unseen by others; - is standard input",
    ),
  ];
}

/**
 * The headers that the options give, as the API takes them; undefined without any. No error quotes one.
 * @throws DomainError `usage` for one that is not `Name: value`, two of one name, or two uses of standard input;
 *   `invalid` for a file that cannot be used.
 */
export async function givenHeaders(options: HeaderOptions): Promise<Record<string, string> | undefined> {
  const { header = [], headerFile } = options;
  if (headerFile === "-" && options.secretStdin)
    throw new DomainError(
      "usage",
      "Standard input holds the signing secret: name a file with --header-file.",
    );
  const inFile = headerFile === undefined ? [] : linesOf(await read(headerFile));
  const headers = new Map<string, string>();
  for (const text of [...header, ...inFile]) {
    const colon = text.indexOf(":");
    if (colon === -1) throw new DomainError("usage", "A header has no colon. Write each as 'Name: value'.");
    const name = text.slice(0, colon).toLowerCase();
    if (headers.has(name))
      throw new DomainError("usage", "Two headers have the same name, whatever its case. Leave one out.");
    headers.set(name, text.slice(colon + 1).trimStart());
  }
  return headers.size === 0 ? undefined : Object.fromEntries(headers);
}

async function read(file: string): Promise<string> {
  if (file === "-") return await readStandardInput("headers", fileBytesMax);
  const path = resolve(file);
  const found = readSettingFile(path, { what: "list of headers", bytesMax: fileBytesMax });
  if ("text" in found) return found.text;
  throw new DomainError("invalid", `The header file ${path} ${found.problem}.`);
}

function linesOf(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== "");
}
