import { Kind, type Static, type TObject, type TSchema, type TUnsafe, Type } from "@sinclair/typebox";

/** The key under which the schema given to Elysia carries the real one, for the OpenAPI document. */
export const schemaKey = "x-schema";

/** The key under which it carries the schema of a form that is taken as well. */
export const formKey = "x-form";

/**
 * Gives a route the type of the schema, and the document a component of that name. Parts of the schema that have an
 * `$id` become components of their own. Of an answer, `description` says more than its status does.
 *
 * To Elysia the schema lets everything through. A body has its turn only after visibility and permission, which is
 * later than Elysia would check it: the domain function does, against the same schema. And an answer is built field by
 * field by our own functions, so checking each one again would only cost time; the tests check every answer against the
 * document instead.
 */
export function contract<S extends TSchema>(
  name: string,
  schema: S,
  description?: string,
): TUnsafe<Static<S>> {
  const described = description === undefined ? {} : { description };
  return Type.Unsafe<Static<S>>({ [Kind]: "Any", [schemaKey]: { ...schema, $id: name }, ...described });
}

/** The contract of a body that may also come as a form of that schema. */
export function orForm<Body>(body: TUnsafe<Body>, name: string, form: TSchema): TUnsafe<Body> {
  return { ...body, [formKey]: { ...form, $id: name } };
}

/** The same for a query string or for headers: each of the schema's properties is a parameter of its own. */
export function parameterContract<S extends TObject>(schema: S): TUnsafe<Static<S>> {
  const { properties, required } = schema;
  return Type.Unsafe<Static<S>>({ [Kind]: "Any", properties, required });
}

/** The body of every refusal but 422 (specification part 2). */
const ErrorBody = Type.Object({ message: Type.String() });

/** The body of 422: messages by field. */
const ValidationErrorBody = Type.Object({
  message: Type.String(),
  errors: Type.Record(Type.String(), Type.Array(Type.String())),
});

const error = contract("Error", ErrorBody);

/** A refusal that means something else at one route than everywhere, with the message that it comes with. */
export function errorResponseBecause(description: string, message: string) {
  return { ...contract("Error", ErrorBody, description), example: { message } };
}

const validationError = contract("ValidationError", ValidationErrorBody);

/** What every route may answer besides its success (specification part 7, and faults of ours). */
export const errorResponses = { 401: error, 403: error, 404: error, 429: error, 500: error, 503: error };

/** The same for a route that takes a parameter which can be wrong: not an id, for those only miss. */
export const errorResponsesOfParameter = { ...errorResponses, 422: validationError };

/** The same for a route that takes a body. */
export const errorResponsesOfInput = { ...errorResponsesOfParameter, 413: error, 415: error };

/** The schema inside `{data: …}`, as every answer with a body has it. */
export function dataOf<S extends TSchema>(schema: S) {
  return Type.Object({ data: schema });
}

/** An answer without a body. */
export const nothing = Type.Unsafe<undefined>({ [Kind]: "Any" });
