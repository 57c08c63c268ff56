import { type DomainError, invalid } from "../errors.ts";

/** No body of the API nests deeper than three; parsers and printers of what comes after are recursive. */
const depthMax = 32;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Stands in for a body that could not be read; what is wrong with it is said when the body's turn in the checks comes. */
export class UnreadableBody {
  readonly error: DomainError;
  constructor(error: DomainError) {
    this.error = error;
  }
}

/** The JSON value of the bytes, or why they hold none. */
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
 * The JSON as a terminal may be given it, the same value to whoever parses it. Control characters, separators of lines and
 * marks that turn the reading direction can stand only inside of its strings, where there is another spelling for them;
 * the ends of lines between its values stay.
 */
export function printableJson(json: string): string {
  return json.replace(
    /[[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]--\n]/gv,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Whether the text has more opening brackets than that, inside of strings or not: hardly any has. */
function mayNestDeeper(text: string, limit: number): boolean {
  let count = 0;
  for (const bracket of ["[", "{"]) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++count > limit) return true;
    }
  }
  return false;
}

// Told from the brackets alone, before anything that would recurse. Brackets inside of strings do not count.
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
