import { type DomainError, invalid } from "../errors.ts";

/** The deepest body of the API has three levels; the parser and later printers are recursive. */
const depthMax = 32;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A placeholder for an unreadable body; its error is thrown when the order of checks comes to the body. */
export class UnreadableBody {
  readonly error: DomainError;
  constructor(error: DomainError) {
    this.error = error;
  }
}

/**
 * Parses the bytes as JSON. Returns an UnreadableBody when they are not UTF-8 or not JSON, or nest deeper than 32
 * levels.
 */
export function parseJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return unreadable("The body is not valid UTF-8.");
  }
  if (mayNestDeeper(text, depthMax) && isDeeperThan(text, depthMax))
    return unreadable(`The body nests deeper than ${depthMax} levels.`);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return unreadable(
      text.trim() === "" ? "The body is empty; it must be a JSON object." : "The body is not valid JSON.",
    );
  }
}

/**
 * Escapes JSON for a terminal without changing its value. Control characters, line separators and bidirectional
 * formatting characters can occur only inside strings, where they can be written as escapes; line ends between values
 * are kept.
 */
export function printableJson(json: string): string {
  return json.replace(
    /[[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]--\n]/gv,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Whether the text has more opening brackets than `limit`, inside strings or not. Hardly any has. */
function mayNestDeeper(text: string, limit: number): boolean {
  let count = 0;
  for (const bracket of ["[", "{"]) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++count > limit) return true;
    }
  }
  return false;
}

// Counts brackets only, without recursion. Brackets inside strings do not count.
function isDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  let isString = false;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (isString) {
      if (unit === 0x5c) i++;
      else if (unit === 0x22) isString = false;
    } else if (unit === 0x22) isString = true;
    else if (unit === 0x5b || unit === 0x7b) {
      if (++depth > limit) return true;
    } else if (unit === 0x5d || unit === 0x7d) depth--;
  }
  return false;
}

function unreadable(message: string): UnreadableBody {
  return new UnreadableBody(invalid({ body: [message] }));
}
