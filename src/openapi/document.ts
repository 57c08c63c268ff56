/** A JSON Schema (draft 2020-12, which OpenAPI 3.1 uses unchanged). */
export type Schema = { [keyword: string]: unknown };

export type Reference = { $ref: string };

export type MediaType = { schema: Schema; example?: unknown };

export type Content = { "application/json": MediaType };

export type Header = { description: string; schema: Schema; example?: unknown };

export type Response = {
  description: string;
  headers?: Record<string, Header | Reference>;
  content?: Content;
};

export type Parameter = {
  name: string;
  in: "path" | "query" | "header";
  description: string;
  required: boolean;
  schema: Schema;
  example?: unknown;
};

export type Operation = {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  parameters: Array<Parameter | Reference>;
  requestBody?: { required: boolean; content: Record<string, MediaType> };
  responses: Record<string, Response | Reference>;
  security: Array<Record<string, string[]>>;
  /** The scope that a token needs; absent for operations without a token. */
  "x-required-scope"?: string;
};

/** The operations of one path, by method in lower case. */
export type PathItem = Record<string, Operation>;

/** The parts of OpenAPI 3.1 that the document uses. */
export type OpenApiDocument = {
  openapi: "3.1.0";
  info: {
    title: string;
    version: string;
    summary: string;
    description: string;
    contact: { name: string };
    license: { name: string; identifier: string };
  };
  servers: Array<{ url: string }>;
  tags: Array<{ name: string; description: string }>;
  paths: Record<string, PathItem>;
  /** The requests that the server sends, by event type. */
  webhooks: Record<string, PathItem>;
  components: {
    securitySchemes: Record<string, { type: string; scheme: string; description: string }>;
    schemas: Record<string, Schema>;
    parameters: Record<string, Parameter>;
    headers: Record<string, Header>;
    responses: Record<string, Response>;
  };
};
