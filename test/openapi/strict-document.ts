import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { openApiDocument } from "../../src/openapi/openapi.ts";
import type { MediaType, Operation, Reference, Response } from "../../src/openapi/document.ts";

/** The document, whose schemas are compiled strictly. */
export const document = await openApiDocument();

// Strict: a keyword or format that JSON Schema does not know is an error.
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
addFormats.default(ajv);
ajv.addVocabulary(["components"]);
ajv.addSchema({ $id: "openapi:", components: document.components });

/** The check that the component makes, undefined where there is none of that name. */
export function schemaNamed(name: string) {
  return ajv.getSchema(`openapi:#/components/schemas/${name}`);
}

/** The response itself, where it is referred to. */
export function responseOf(response: Response | Reference): Response {
  if (!("$ref" in response)) return response;
  const shared = document.components.responses[response.$ref.replace("#/components/responses/", "")];
  if (!shared) throw new Error(`there is no ${response.$ref}`);
  return shared;
}

/** Every body that the operation takes or answers. */
export function bodiesOf({ requestBody, responses }: Operation): MediaType[] {
  const contents = [
    requestBody?.content,
    ...Object.values(responses).map((response) => responseOf(response).content),
  ];
  return contents.flatMap((content) => (content ? Object.values(content) : []));
}

/** What is wrong with the example of the body by its schema: nothing, hopefully. */
export function complaintsAbout({ schema, example }: MediaType): unknown {
  const validate = ajv.getSchema(`openapi:${String(schema.$ref)}`);
  if (!validate) throw new Error(`there is no ${String(schema.$ref)}`);
  return validate(example) ? [] : validate.errors;
}
