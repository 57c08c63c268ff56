import {
  type Attribute,
  groupResourceType,
  type ResourceType,
  userResourceType,
} from "./protocol/attributes.ts";
import { operationsMax } from "./protocol/patch.ts";
import { pageSizeMax } from "./protocol/query.ts";
import { bodyBytesMax } from "../http/json-body.ts";

const kinds = [userResourceType, groupResourceType];

/**
 * What we support (RFC 7643, 5). Bulk is not, but some directories split their PATCH by its `maxOperations` all the
 * same. `root` is the address of `/scim/v2`.
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
        description: "The token that the operator set as SCIM_TOKEN, in the header Authorization.",
        specUri: "https://www.rfc-editor.org/rfc/rfc6750",
        primary: true,
      },
    ],
    meta: { resourceType: "ServiceProviderConfig", location: `${root}/ServiceProviderConfig` },
  };
}

/** The types of resources, each with its `id` (RFC 7643, 6). */
export function resourceTypes(root: string): Array<{ id: string }> {
  return kinds.map(({ name, endpoint, schema, description }) => ({
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
    id: name,
    name,
    endpoint,
    description,
    schema,
    meta: { resourceType: "ResourceType", location: `${root}/ResourceTypes/${name}` },
  }));
}

/** What the resources are made of, each schema with its `id` (RFC 7643, 7). */
export function schemas(root: string): Array<{ id: string }> {
  return kinds.map(({ name, schema, description, attributes }: ResourceType) => ({
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
    id: schema,
    name,
    description,
    attributes: attributes.map(described),
    meta: { resourceType: "Schema", location: `${root}/Schemas/${schema}` },
  }));
}

function described(attribute: Attribute): object {
  const { name, type, description, canonicalValues, subAttributes } = attribute;
  return {
    name,
    type,
    multiValued: attribute.multiValued === true,
    description,
    required: attribute.required === true,
    ...(type === "string" && { caseExact: attribute.caseExact === true }),
    ...(type === "reference" && { caseExact: true, referenceTypes: [userResourceType.name] }),
    ...(canonicalValues && { canonicalValues: canonicalValues }),
    mutability: attribute.isImmutable ? "immutable" : attribute.isReadOnly ? "readOnly" : "readWrite",
    returned: "default",
    uniqueness: attribute.isUnique ? "server" : "none",
    ...(subAttributes && { subAttributes: subAttributes.map(described) }),
  };
}
