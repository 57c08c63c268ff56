import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { openApiDocument } from "../../src/openapi/openapi.ts";
import type { Operation, PathItem, Response } from "../../src/openapi/document.ts";

const document = await openApiDocument();
const documentId = "openapi:";

// Not strict: the document as a whole is no schema, only parts of it are.
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema({ $id: documentId, ...(closed(document) as object) });

/** What answers under an address of its own without being part of the described interface. */
const undescribed = /^\/(healthz|livez|readyz|api\/v1\/openapi\.json|api\/v1\/docs(\/.*)?)$/;

const paths = Object.entries(document.paths).map(([path, item]) => ({
  item,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
}));

/**
 * Holds an answer of the server against the OpenAPI document. `path` begins after the server's address and may have a
 * query; `body` is the JSON value that was answered, undefined where there was none.
 * @throws Error when the document has no such status for the operation, or has other headers or another body for it. A
 *   field that the document does not know counts as another body.
 */
export function checkAgainstDocument(
  method: string,
  path: string,
  status: number,
  headers: Headers,
  body: unknown,
): void {
  const address = path.replace(/\?.*$/, "");
  if (undescribed.test(address)) return;
  const item = paths.find(({ pattern }) => pattern.test(address))?.item;
  // HEAD answers as GET does, without the body.
  const operation = item?.[method === "HEAD" ? "get" : method.toLowerCase()];
  try {
    if (operation)
      checkResponse(responseOf(operation, status), status, headers, method === "HEAD" ? null : body);
    else checkWithoutOperation(item, method, status, headers, body);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${method} ${path} → ${status}, against the OpenAPI document: ${why}`, { cause: error });
  }
}

function responseOf(operation: Operation, status: number): Response {
  const response = operation.responses[status];
  if (!response) throw new Error(`${operation.operationId} does not answer ${status}`);
  if (!("$ref" in response)) return response;
  const name = response.$ref.replace("#/components/responses/", "");
  const shared = document.components.responses[name];
  if (!shared) throw new Error(`there is no ${response.$ref}`);
  return shared;
}

/** `body` is null where it is not to be looked at. */
function checkResponse(response: Response, status: number, headers: Headers, body: unknown): void {
  for (const name of Object.keys(response.headers ?? {})) {
    // Before a token is looked at, and while the platform is switched off, 404 knows of no rate limit. Most bodies have
    // no field to ignore.
    if (name === "X-Ignored-Fields") continue;
    if (headers.has(name) || (status === 404 && name.startsWith("X-RateLimit"))) continue;
    throw new Error(`the header ${name} is missing`);
  }
  if (body === null) return;
  const schema = response.content?.["application/json"].schema;
  if (schema) checkBody(schema.$ref, headers, body);
  else if (body !== undefined) throw new Error(`there is a body: ${JSON.stringify(body)}`);
}

/** For an address that the document does not have, or not with this method. */
function checkWithoutOperation(
  item: PathItem | undefined,
  method: string,
  status: number,
  headers: Headers,
  body: unknown,
): void {
  // While the platform is switched off, no address is there for any method.
  if (status !== 404) {
    if (!item) throw new Error("there is no such address");
    const methods = Object.keys(item).flatMap((known) =>
      known === "get" ? ["GET", "HEAD"] : [known.toUpperCase()],
    );
    const allowed = methods.sort().join(", ");
    if (headers.get("Allow") !== allowed)
      throw new Error(`Allow is ${headers.get("Allow")} and not ${allowed}`);
    if (method === "OPTIONS" && status === 204) return;
    if (status !== 405) throw new Error("there is no such method at this address");
  }
  if (method !== "HEAD") checkBody("#/components/schemas/Error", headers, body);
}

function checkBody(reference: unknown, headers: Headers, body: unknown): void {
  if (typeof reference !== "string") throw new Error("the body's schema has no name");
  if (!headers.get("Content-Type")?.startsWith("application/json"))
    throw new Error("the body is not sent as JSON");
  const validate = ajv.getSchema(documentId + reference);
  if (!validate) throw new Error(`there is no ${reference}`);
  if (!validate(body)) throw new Error(`${ajv.errorsText(validate.errors)} in ${JSON.stringify(body)}`);
}

/** The same with every object closed to fields that it does not name. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, closed(inner)] as const);
  const copy: Record<string, unknown> = Object.fromEntries(entries);
  if (copy.type === "object" && copy.properties) copy.additionalProperties ??= false;
  return copy;
}
