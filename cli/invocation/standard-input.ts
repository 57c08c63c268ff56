import { DomainError } from "../../src/errors.ts";

/**
 * What standard input holds, read no further than `bytesMax`: it may never end. `what` is what it is to hold, as a noun
 * with its article.
 * @throws DomainError `invalid` when it holds more.
 */
export async function readStandardInput(what: string, bytesMax: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of Bun.stdin.stream()) {
    parts.push(part);
    length += part.length;
    if (length > bytesMax)
      throw new DomainError("invalid", `Standard input holds over ${bytesMax} bytes, too many for ${what}.`);
  }
  return Buffer.concat(parts).toString();
}
