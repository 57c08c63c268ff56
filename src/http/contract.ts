import { Kind, type Static, type TSchema, type TUnsafe, Type } from "@sinclair/typebox";

const schemas = new Map<string, TSchema>();

/** The key under which a route's schema names its component of the OpenAPI document. */
export const componentKey = "x-component";

/**
 * Gives a route the type of the schema, and the document a component of that name.
 *
 * To Elysia the schema lets everything through. A body has its turn only after visibility and permission, which is
 * later than Elysia would check it: the domain function does, against the same schema. And an answer is built field by
 * field by our own functions, so checking each one again would only cost time; the tests check every answer against the
 * document instead.
 */
export function contract<S extends TSchema>(name: string, schema: S): TUnsafe<Static<S>> {
  schemas.set(name, schema);
  return Type.Unsafe<Static<S>>({ [Kind]: "Any", [componentKey]: name });
}

/** Every schema that a route has named, by its name. */
export function components(): ReadonlyMap<string, TSchema> {
  return schemas;
}

/** The body of every refusal but 422 (specification part 2). */
export const ErrorBody = Type.Object({ message: Type.String() });

/** The body of 422: messages by field. */
export const ValidationErrorBody = Type.Object({
  message: Type.String(),
  errors: Type.Record(Type.String(), Type.Array(Type.String())),
});

const error = contract("Error", ErrorBody);
const validationError = contract("ValidationError", ValidationErrorBody);

/** What every route may answer besides its success: no token, no scope or permission, hidden or missing, too fast. */
export const refusals = { 401: error, 403: error, 404: error, 429: error, 500: error };

/** The same for a route that takes a body or a parameter. */
export const refusalsOfInput = { ...refusals, 413: error, 415: error, 422: validationError };

/** The schema inside `{data: …}`, as every answer with a body has it. */
export function dataOf<S extends TSchema>(schema: S) {
  return Type.Object({ data: schema });
}

/** An answer without a body. */
export const nothing = Type.Unsafe<undefined>({ [Kind]: "Any", [componentKey]: "" });
