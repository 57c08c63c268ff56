import { swagger } from "@elysiajs/swagger";
import { Elysia } from "elysia";
import { apiRoutes } from "../api/api.ts";
import { ingestRoutes } from "../api/incoming-webhooks.ts";
import { stubContext } from "./stub-context.ts";
import { formKey, schemaKey } from "../http/contract.ts";
import { ignoredFieldsKey } from "../http/ignored-fields.ts";
import type {
  MediaType,
  OpenApiDocument,
  Operation,
  Parameter,
  Reference,
  Response,
  Schema,
} from "./document.ts";
import { complaints, examples } from "./examples.ts";
import { info, securitySchemes, tags } from "./info.ts";
import { pathParameters } from "./parameters.ts";
import { ownResponse, headers, errorReference, errorComponents, inputErrorResponse } from "./responses.ts";
import { finishedSchema } from "./schemas.ts";
import { deliveries } from "./webhooks.ts";

/** The schema that `contract` gave a route, as JSON. */
type Contracted = {
  [schemaKey]?: Schema;
  [formKey]?: Schema;
  [ignoredFieldsKey]?: boolean;
  description?: string;
  example?: unknown;
};

/** An operation as the plugin describes it: not yet valid OpenAPI, and without the real schemas. */
type PluginOperation = Omit<Operation, "parameters" | "requestBody" | "responses" | "security"> & {
  parameters?: Parameter[];
  requestBody?: { content: { "application/json": { schema: Contracted } } };
  responses: Record<string, Contracted>;
  security?: Operation["security"];
};

type PluginDocument = { paths: Record<string, Record<string, PluginOperation>> };

/**
 * Builds the OpenAPI 3.1 document from the routes that the server itself uses (specification part 9); no database is
 * opened. The paths are appended to `serverUrl`; by default, to the origin that the document is loaded from.
 */
export async function openApiDocument(serverUrl = "/"): Promise<OpenApiDocument> {
  const described = await describedPaths();
  const schemas = new Map<string, Schema>();
  const paths = mapValues(described, (operations, path) =>
    mapValues(operations, (operation) => finishedOperation(path, operation, schemas)),
  );
  return {
    openapi: "3.1.0",
    info,
    servers: [{ url: serverUrl }],
    tags,
    paths,
    webhooks: deliveries(schemas),
    components: {
      securitySchemes,
      schemas: Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
      parameters: pathParameters,
      headers,
      responses: errorComponents(),
    },
  };
}

async function describedPaths(): Promise<PluginDocument["paths"]> {
  const context = stubContext();
  const described = new Elysia()
    .use(swagger({ path: "/page", specPath: "/document" }))
    .use(apiRoutes(context))
    .use(ingestRoutes(context));
  const response = await described.handle(new Request("http://localhost/document"));
  return ((await response.json()) as PluginDocument).paths;
}

function finishedOperation(
  path: string,
  operation: PluginOperation,
  schemas: Map<string, Schema>,
): Operation {
  const { operationId, tags, summary, security = [], requestBody, responses } = operation;
  const scope = operation["x-required-scope"];
  const description = [operation.description, scope && `Needs the scope \`${scope}\`.`]
    .filter(Boolean)
    .join(" ");
  const { [schemaKey]: body, [formKey]: form } = requestBody?.content["application/json"].schema ?? {};
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const elsewhere = (operation.parameters ?? []).filter((parameter) => parameter.in !== "path");
  // The example of a 422 is about the first field, or the first parameter, that a caller can get wrong.
  const fields = Object.keys(body?.properties ?? {});
  const field = fields[0] ?? elsewhere[0]?.name ?? inPath.at(-1) ?? "";
  const complaint = complaints[operationId] ?? `The ${field} field is required.`;
  return {
    operationId,
    tags,
    summary,
    description,
    parameters: [...inPath.map((name) => referenceToPathParameter(operationId, name)), ...elsewhere],
    ...(body ? { requestBody: { required: true, content: contentOf(body, form, schemas) } } : {}),
    responses: mapValues(responses, (response, status) =>
      finishedResponse(Number(status), response, { field, complaint }, schemas),
    ),
    security,
    ...(scope === undefined ? {} : { "x-required-scope": scope }),
  };
}

function finishedResponse(
  status: number,
  { description, example, [schemaKey]: schema, [ignoredFieldsKey]: mayIgnoreFields = false }: Contracted,
  { field, complaint }: { field: string; complaint: string },
  schemas: Map<string, Schema>,
): Response | Reference {
  const body = schema && mediaType(schema, schemas, example);
  if (status === 422) return inputErrorResponse(field, complaint);
  const shared = description === undefined ? errorReference(status) : undefined;
  return shared ?? ownResponse(status, { description, body, mayIgnoreFields });
}

function referenceToPathParameter(operationId: string, name: string): Reference {
  const found = [`${operationId}.${name}`, name].find((key) => Object.hasOwn(pathParameters, key));
  if (found === undefined) throw new Error(`openapi/parameters.ts does not describe {${name}}.`);
  return { $ref: `#/components/parameters/${found}` };
}

function contentOf(
  body: Schema,
  form: Schema | undefined,
  schemas: Map<string, Schema>,
): Record<string, MediaType> {
  const forms = form ? ["application/x-www-form-urlencoded", "multipart/form-data"] : [];
  return {
    "application/json": mediaType(body, schemas),
    ...Object.fromEntries(forms.map((type) => [type, mediaType(form ?? {}, schemas)])),
  };
}

function mediaType(
  schema: Schema,
  schemas: Map<string, Schema>,
  example = examples[String(schema.$id)],
): MediaType {
  return { schema: finishedSchema(schema, schemas), example };
}

function mapValues<From, To>(
  object: Record<string, From>,
  map: (value: From, key: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]));
}
