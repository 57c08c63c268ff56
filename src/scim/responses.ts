import { DomainError } from "../errors.ts";
import { internalErrorMessage } from "../http/error-responses.ts";
import { headersOf, statusOf } from "../http/statuses.ts";
import { ScimError, type ScimType } from "./protocol/errors.ts";

const errorSchema = "urn:ietf:params:scim:api:messages:2.0:Error";
const listSchema = "urn:ietf:params:scim:api:messages:2.0:ListResponse";

/** Without `charset`, which some directories fail on. */
const mediaType = "application/scim+json";

/** Returns a response with SCIM's media type. */
export function scimResponse(status: number, body: object, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...headers, "content-type": mediaType },
  });
}

/**
 * Returns a 204. It has no body to give a media type for, but the client of scim-sdk (1.30.0) takes a response to PATCH
 * without one for a failure.
 */
export function emptyResponse(): Response {
  return new Response(null, { status: 204, headers: { "content-type": mediaType } });
}

/** Returns a page of resources (RFC 7644, section 3.4.2); `itemsPerPage` is the number of resources on it. */
export function listResponse(resources: readonly object[], total: number, startIndex: number): Response {
  return scimResponse(200, {
    schemas: [listSchema],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  });
}

/** Returns an error response in the form of RFC 7644, section 3.12. */
export function errorResponse(
  status: number,
  detail: string,
  { scimType, headers }: { scimType?: ScimType | undefined; headers?: Record<string, string> } = {},
): Response {
  const body = { schemas: [errorSchema], status: String(status), ...(scimType && { scimType }), detail };
  return scimResponse(status, body, headers);
}

/** Returns the response to an error; undefined for an internal error, of which a response reveals nothing. */
export function errorResponseOf(error: unknown): Response | undefined {
  if (error instanceof ScimError) return errorResponse(error.status, error.message, error);
  if (!(error instanceof DomainError)) return undefined;
  const { message } = error;
  const headers = headersOf(error);
  if (error.code === "invalid") return errorResponse(400, message, { scimType: "invalidValue", headers });
  return errorResponse(statusOf[error.code], message, { headers });
}

/** Returns the response to an internal error. */
export function internalErrorResponse(): Response {
  return errorResponse(500, internalErrorMessage);
}
