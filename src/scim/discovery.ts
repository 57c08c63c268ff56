import { groupResourceType, userResourceType } from "./protocol/attributes.ts";
import { operationsMax } from "./protocol/patch.ts";
import { pageSizeMax } from "./protocol/query.ts";
import { bodyBytesMax } from "../http/json-body.ts";

const served = [userResourceType, groupResourceType];

/**
 * Describes what the server supports (RFC 7643, section 5). Bulk is not supported, but some directories split a PATCH
 * by its `maxOperations` all the same. `root` is the URL of `/scim/v2`.
 */
export function serviceProviderConfig(root: string): object {
  return {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: operationsMax, maxPayloadSize: bodyBytesMax },
    filter: { supported: true, maxResults: pageSizeMax },
    changePassword: { supported: false },
    sort: { supported: true },
    etag: { supported: false },
    authenticationSchemes: [
      {
        type: "oauthbearertoken",
        name: "Bearer token",
        description: "The token that the operator set as SCIM_TOKEN, in the Authorization header.",
        specUri: "https://www.rfc-editor.org/rfc/rfc6750",
        primary: true,
      },
    ],
    meta: { resourceType: "ServiceProviderConfig", location: `${root}/ServiceProviderConfig` },
  };
}

/** Returns the resource types, each with its `id` (RFC 7643, section 6). */
export function resourceTypes(root: string): Array<{ id: string }> {
  return served.map(({ name, endpoint, schema, description }) => ({
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
    id: name,
    name,
    endpoint,
    description,
    schema,
    meta: { resourceType: "ResourceType", location: `${root}/ResourceTypes/${name}` },
  }));
}

/** Returns the schemas of the resource types, each with its `id` (RFC 7643, section 7). */
export function schemas(root: string): Array<{ id: string }> {
  return served.map(({ name, schema, description, attributes }) => ({
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
    id: schema,
    name,
    description,
    attributes,
    meta: { resourceType: "Schema", location: `${root}/Schemas/${schema}` },
  }));
}
