import { DomainError } from "../errors.ts";
import { internalErrorMessage } from "../http/error-responses.ts";
import { headersOf, statusOf } from "../http/statuses.ts";
import { ScimError, type ScimType } from "./protocol/errors.ts";

const errorSchema = "urn:ietf:params:scim:api:messages:2.0:Error";
const listSchema = "urn:ietf:params:scim:api:messages:2.0:ListResponse";

/** Without the `charset` that some directories stumble over. */
const mediaType = "application/scim+json";

/** An answer in the media type of SCIM. */
export function scimResponse(status: number, body: object, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...headers, "content-type": mediaType },
  });
}

/**
 * 204. Without a body it needs no media type, but scim-sdk's client takes an answer to a PATCH without one for a failure
 * (1.30.0).
 */
export function emptyResponse(): Response {
  return new Response(null, { status: 204, headers: { "content-type": mediaType } });
}

/** A page of resources (RFC 7644, 3.4.2): `itemsPerPage` is how many there are in it. */
export function listResponse(resources: readonly object[], total: number, startIndex: number): Response {
  return scimResponse(200, {
    schemas: [listSchema],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  });
}

/** A refusal in the form of RFC 7644, 3.12. */
export function errorResponse(
  status: number,
  detail: string,
  { scimType, headers }: { scimType?: ScimType | undefined; headers?: Record<string, string> } = {},
): Response {
  const body = { schemas: [errorSchema], status: String(status), ...(scimType && { scimType }), detail };
  return scimResponse(status, body, headers);
}

/** The answer to whatever was thrown. Undefined for a fault of ours, of which an answer says nothing. */
export function errorResponseOf(error: unknown): Response | undefined {
  if (error instanceof ScimError) return errorResponse(error.status, error.message, error);
  if (!(error instanceof DomainError)) return undefined;
  const { message } = error;
  const headers = headersOf(error);
  if (error.code === "invalid") return errorResponse(400, message, { scimType: "invalidValue", headers });
  return errorResponse(statusOf[error.code], message, { headers });
}

/** The answer that covers a fault of ours up. */
export function internalErrorResponse(): Response {
  return errorResponse(500, internalErrorMessage);
}
