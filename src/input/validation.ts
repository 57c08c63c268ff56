import {
  Kind,
  type Static,
  type TObject,
  type TSchema,
  type TUnsafe,
  Type,
  TypeRegistry,
} from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/value";
import { type FieldErrors, invalid } from "../errors.ts";
import { UnreadableBody } from "./json.ts";
import { nearest } from "./nearest.ts";
import { isNameable, isStorable, isUuid, isWithin, trim } from "./text.ts";

/** The maximum number of fields in an error: a long list can have more errors than are useful. */
const errorsMax = 100;

type TextRules = {
  /** In Unicode code points, after trimming if `isTrimmed`. */
  maxLength: number;
  minLength?: number;
  /** Removes surrounding white space before the text is measured and stored. */
  isTrimmed?: boolean;
  format?: string;
  /** The text must be on one line, without control characters, invisible characters or bidirectional marks. */
  isName?: boolean;
  description?: string;
};

TypeRegistry.Set("Text", (schema: TextRules, value) => textProblem(schema, value) === undefined);
TypeRegistry.Set("Uuid", (_schema, value) => typeof value === "string" && isUuid(value));
TypeRegistry.Set("OneOf", (schema: { enum: readonly unknown[] }, value) => schema.enum.includes(value));
TypeRegistry.Set("PageNumber", (_schema, value) => typeof value === "string" && pageNumber.test(value));

TypeRegistry.Set("WholeNumber", ({ minimum, maximum }: { minimum: number; maximum: number }, value) => {
  const number = typeof value === "string" && wholeNumber.test(value) ? Number(value) : NaN;
  return number >= minimum && number <= maximum;
});

const wholeNumber = /^[0-9]{1,15}$/;
const pageNumber = /^0*[1-9][0-9]{0,14}$/;
/** The largest number that the pattern matches. */
const pageMax = 999_999_999_999_999;

/** A text whose length is counted in code points, as in JSON Schema. NUL and lone surrogates are rejected. */
export function Text(rules: TextRules): TUnsafe<string> {
  return Type.Unsafe<string>({ [Kind]: "Text", type: "string", minLength: 0, ...rules });
}

/** A UUID in upper or lower case. */
export function Uuid(options: { description?: string } = {}): TUnsafe<string> {
  return Type.Unsafe<string>({ [Kind]: "Uuid", type: "string", format: "uuid", ...options });
}

/** A page number of a collection, starting at 1, as a query parameter. */
export function PageNumber(options: { description?: string } = {}): TUnsafe<string> {
  return Type.Unsafe<string>({
    [Kind]: "PageNumber",
    type: "integer",
    format: "int64",
    minimum: 1,
    maximum: pageMax,
    default: 1,
    ...options,
  });
}

/** A whole number as a query parameter. */
export function WholeNumber(options: {
  minimum: number;
  maximum: number;
  default: number;
  description: string;
}): TUnsafe<string> {
  return Type.Unsafe<string>({ [Kind]: "WholeNumber", type: "integer", ...options });
}

/** The schema, or null. */
export function Nullable<S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}

/** Exactly one of the words. */
export function OneOf<const Words extends readonly string[]>(words: Words): TUnsafe<Words[number]> {
  return Type.Unsafe<Words[number]>({ [Kind]: "OneOf", type: "string", enum: words });
}

/**
 * Compiles a check for objects of the schema's shape. The check returns a new object with only the schema's fields,
 * and trims texts where the schema says so. Without `takesUnknown` other fields are errors, which name the nearest field
 * that there is.
 * @throws DomainError `invalid` with one message per invalid field, at most 100; `body` refers to the whole input.
 */
export function checkOf<S extends TObject>(
  schema: S,
  { takesUnknown = true }: { takesUnknown?: boolean } = {},
): (input: unknown) => Static<S> {
  const names = Object.keys(schema.properties);
  const compiled = TypeCompiler.Compile(schema);
  const fields = Object.entries(schema.properties).map(([name, field]) => ({
    name,
    isTrimmed: isTrimmed(field),
  }));
  return (input) => {
    if (input instanceof UnreadableBody) throw input.error;
    const unknown = takesUnknown ? {} : unknownErrors(input, names);
    if (!compiled.Check(input)) throw invalid({ ...explain(compiled.Errors(input)), ...unknown });
    if (Object.keys(unknown).length > 0) throw invalid(unknown);
    const checked = input as Record<string, unknown>;
    const clean: Record<string, unknown> = {};
    for (const field of fields) {
      if (!Object.hasOwn(checked, field.name)) continue;
      const value = checked[field.name];
      clean[field.name] = field.isTrimmed && typeof value === "string" ? trim(value) : value;
    }
    return clean as Static<S>;
  };
}

function unknownErrors(input: unknown, names: readonly string[]): FieldErrors {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return {};
  const unknown = Object.keys(input).filter((name) => !names.includes(name));
  const errors = unknown.slice(0, errorsMax).map((name) => {
    const meant = nearest(name, names);
    const remedy = meant === undefined ? `There are: ${names.join(", ")}` : `Did you mean ${meant}?`;
    return [name, [`The ${name} field is not known. ${remedy}`]];
  });
  return Object.fromEntries(errors) as FieldErrors;
}

function isTrimmed(schema: TSchema): boolean {
  return schema.isTrimmed === true || (schema.anyOf as TSchema[] | undefined)?.some(isTrimmed) === true;
}

function textProblem(rules: TextRules, value: unknown): string | undefined {
  if (typeof value !== "string") return "must be a string";
  if (!isStorable(value)) return "must not contain a NUL character or half of a surrogate pair";
  const text = rules.isTrimmed ? trim(value) : value;
  if ((rules.minLength ?? 0) > 0 && text === "") return "is required";
  if (!isWithin(text, rules.maxLength)) return `must not be longer than ${rules.maxLength} characters`;
  if (rules.isName && !isNameable(text))
    return "must not contain control characters, line ends or hidden marks";
  return undefined;
}

function explain(errors: Iterable<ValueError>): FieldErrors {
  // A Map, because a field may be called `__proto__`.
  const found = new Map<string, string[]>();
  for (const error of errors) {
    const branch = intendedBranch(error);
    const field = fieldOf(branch.path);
    const subject = branch.path === "" ? "body" : `${field} field`;
    if (!found.has(field)) found.set(field, [`The ${subject} ${problemOf(branch)}.`]);
    if (found.size === errorsMax) break;
  }
  return Object.fromEntries(found);
}

// For `X or null`, report what is wrong with X.
function intendedBranch(error: ValueError): ValueError {
  if (error.type !== ValueErrorType.Union) return error;
  const branches = (error.schema.anyOf as TSchema[] | undefined) ?? [];
  const intended = branches.findIndex((branch) => branch.type !== "null");
  const [inner] = error.errors[intended] ?? [];
  return inner === undefined ? error : intendedBranch(inner);
}

/** Converts `/channel_ids/0` to `channel_ids.0`; the whole input is `body`. */
function fieldOf(path: string): string {
  if (path === "") return "body";
  return path
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .join(".");
}

function problemOf({ schema, type, value }: ValueError): string {
  if (value === undefined || type === ValueErrorType.ObjectRequiredProperty) return "is required";
  if (schema[Kind] === "Text") return textProblem(schema as unknown as TextRules, value) ?? "is not valid";
  if (schema[Kind] === "Uuid") return "must be a uuid";
  if (schema[Kind] === "PageNumber") return `must be a whole number from 1 to ${pageMax}`;
  if (schema[Kind] === "WholeNumber")
    return `must be a whole number from ${Number(schema.minimum)} to ${Number(schema.maximum)}`;
  if (schema[Kind] === "OneOf") return `must be one of: ${(schema.enum as string[]).join(", ")}`;
  if (type === ValueErrorType.ArrayMinItems) return `must have at least ${String(schema.minItems)} item`;
  if (type === ValueErrorType.ArrayMaxItems) return `must have at most ${String(schema.maxItems)} items`;
  if (type === ValueErrorType.Object) return "must be a JSON object";
  if (type === ValueErrorType.Boolean) return "must be true or false";
  if (type === ValueErrorType.Array) return "must be a list";
  return "is not valid";
}
