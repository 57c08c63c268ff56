import type { FieldErrors } from "../errors.ts";

/** What becomes of headers, by their names in lower case: a new value, or null for none. */
export type HeaderChange = ReadonlyMap<string, string | null>;

/** The most headers of a subscription. */
export const headersMax = 20;
const nameMax = 100;
/** In characters. */
export const valueMax = 4_096;
/** For all names and values together, in characters: many receivers take no more than 8 KiB of headers. */
const totalMax = 7_168;

/** RFC 9110 calls it a token. */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Visible ASCII with spaces between. A line end or a NUL would begin another header, or end the request's head. */
const headerValue = /^[!-~](?:[ -~]*[!-~])?$/;

/** What nobody may set: whole names and beginnings of names, and why, as the end of a sentence. */
const reserved = [
  {
    names: ["host", "connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "expect"],
    prefixes: ["proxy-", "http2-"],
    why: "it decides where the request goes and where it ends",
  },
  { names: ["accept-encoding"], prefixes: ["content-"], why: "it says in which form bodies are sent" },
  {
    names: ["user-agent", "traceparent", "tracestate"],
    prefixes: ["x-service-", "webhook-"],
    why: "Parley says this itself",
  },
  {
    names: ["forwarded", "via", "x-real-ip", "x-rewrite-url", "x-method-override"],
    prefixes: ["x-forwarded-", "x-original-", "x-http-method"],
    why: "receivers may take the request for another one, or for one from elsewhere",
  },
];

/**
 * Returns what `headers` of a request asks for, and what is wrong with it. No message quotes a value, nor a name that is
 * none: it may have been written together with its value. Removing is an error unless `canRemove`.
 */
export function checkedHeaders(
  input: Record<string, unknown>,
  { canRemove }: { canRemove: boolean },
): { change: HeaderChange; errors: FieldErrors } {
  const change = new Map<string, string | null>();
  const errors = new Map<string, string[]>();
  const entries = Object.entries(input);
  // As many may be removed as there are.
  if (entries.length > headersMax * 2) return { change, errors: tooMany() };
  for (const [given, value] of entries) {
    const name = given.toLowerCase();
    if (!isHeaderName(given)) {
      errors.set("headers", [
        `The headers field has a name that is none. A name has letters, digits and hyphens, at most ${nameMax}; what ` +
          "follows its colon is the value.",
      ]);
      continue;
    }
    const field = `headers.${name}`;
    const problem =
      (change.has(name) ? "is given twice, since names compare without case. Leave one out" : undefined) ??
      reservedProblem(name) ??
      valueProblem(value, canRemove);
    if (problem === undefined) change.set(name, value as string | null);
    else errors.set(field, [`The ${field} field ${problem}.`]);
  }
  return { change, errors: Object.fromEntries(errors) };
}

/** What is wrong with so many headers, or such long ones, together. */
export function sizeErrors(headers: ReadonlyMap<string, string>): FieldErrors {
  if (headers.size > headersMax) return tooMany();
  let total = 0;
  for (const [name, value] of headers) total += name.length + value.length;
  if (total <= totalMax) return {};
  const most = totalMax.toLocaleString("en");
  return { headers: [`The headers field must come to at most ${most} characters, names included.`] };
}

function tooMany(): FieldErrors {
  return { headers: [`The headers field must have at most ${headersMax} headers.`] };
}

/** Whether a header may have this name, apart from those that are ours. */
function isHeaderName(text: string): boolean {
  return text.length <= nameMax && headerName.test(text);
}

/** Receivers behind CGI or WSGI get `X_Real_IP` as if it were `X-Real-IP`, so those are one name here. */
function reservedProblem(given: string): string | undefined {
  const name = given.replace(/[^a-z0-9]/g, "-");
  for (const { names, prefixes, why } of reserved) {
    if (names.includes(name) || prefixes.some((prefix) => name.startsWith(prefix)))
      return `cannot be set: ${why}. Leave it out`;
  }
  return undefined;
}

function valueProblem(value: unknown, canRemove: boolean): string | undefined {
  if (value === null && canRemove) return undefined;
  if (typeof value !== "string") return "must be a string";
  if (value.length > valueMax) return `must not be longer than ${valueMax} characters`;
  if (!headerValue.test(value)) return "must be visible ASCII characters, with spaces only between them";
  return undefined;
}
