import { Kind, type Static, type TObject, type TSchema, type TUnsafe, Type } from "@sinclair/typebox";

/** The key of the real schema in the one given to Elysia, for the OpenAPI document. */
export const schemaKey = "x-schema";

/** The key of the schema of a form, when a route takes one as well. */
export const formKey = "x-form";

/**
 * Gives a route the type of the schema, and the OpenAPI document a component of that name. Parts of the schema with an
 * `$id` become components of their own. `description` describes a response better than its status does.
 *
 * Elysia's own validation lets everything through. A body is validated after visibility and permission, which is later
 * than Elysia would do it: the domain function validates it, against the same schema. Our own functions build responses
 * field by field, so validating each one would only cost time; the tests check every response against the document.
 */
export function contract<S extends TSchema>(
  name: string,
  schema: S,
  description?: string,
): TUnsafe<Static<S>> {
  const described = description === undefined ? {} : { description };
  return Type.Unsafe<Static<S>>({ [Kind]: "Any", [schemaKey]: { ...schema, $id: name }, ...described });
}

/** Adds a form of that schema, as the other encoding of the body. */
export function orForm<Body>(body: TUnsafe<Body>, name: string, form: TSchema): TUnsafe<Body> {
  return { ...body, [formKey]: { ...form, $id: name } };
}

/** The contract of a query string or of headers: each property of the schema is a parameter. */
export function parameterContract<S extends TObject>(schema: S): TUnsafe<Static<S>> {
  const { properties, required } = schema;
  return Type.Unsafe<Static<S>>({ [Kind]: "Any", properties, required });
}

/** The body of every error response except 422 (specification part 2). */
const ErrorBody = Type.Object({ message: Type.String() });

/** The body of 422: messages by field. */
const ValidationErrorBody = Type.Object({
  message: Type.String(),
  errors: Type.Record(Type.String(), Type.Array(Type.String())),
});

const error = contract("Error", ErrorBody);

/** An error response with a meaning and a message of its own at one route. */
export function errorResponseBecause(description: string, message: string) {
  return { ...contract("Error", ErrorBody, description), example: { message } };
}

const validationError = contract("ValidationError", ValidationErrorBody);

/** The error responses of every route (specification part 7, and internal errors). */
export const errorResponses = { 401: error, 403: error, 404: error, 429: error, 500: error, 503: error };

/** The same for a route with a parameter that can be invalid. An id cannot: a malformed one is 404. */
export const errorResponsesOfParameter = { ...errorResponses, 422: validationError };

/** The same for a route that takes a body. */
export const errorResponsesOfInput = { ...errorResponsesOfParameter, 413: error, 415: error };

/** Wraps the schema in `{data: …}`, as in every response with a body. */
export function dataOf<S extends TSchema>(schema: S) {
  return Type.Object({ data: schema });
}

/** A response without a body. */
export const nothing = Type.Unsafe<undefined>({ [Kind]: "Any" });
