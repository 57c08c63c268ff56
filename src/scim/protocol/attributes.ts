/**
 * The definition of an attribute, with the characteristics of RFC 7643, section 7, under their own names: `/Schemas`
 * shows it as it is. An attribute without a definition is not stored, compared or patched.
 */
export type Attribute = {
  name: string;
  type: "string" | "boolean" | "dateTime" | "reference" | "complex";
  multiValued: boolean;
  description: string;
  required: boolean;
  /** Absent for the types that have no case. */
  caseExact?: boolean;
  /**
   * `immutable`, of a sub-attribute: values are added to the list and removed from it, but this sub-attribute never
   * changes.
   */
  mutability: "readWrite" | "readOnly" | "immutable";
  returned: "default";
  /** `server`: no two resources of the team have the same value. */
  uniqueness: "none" | "server";
  canonicalValues?: readonly string[];
  referenceTypes?: readonly string[];
  subAttributes?: readonly Attribute[];
};

/** A resource type (RFC 7643, section 6) with the attributes of its schema. */
export type ResourceType = {
  name: "User" | "Group";
  endpoint: "/Users" | "/Groups";
  schema: string;
  description: string;
  attributes: readonly Attribute[];
};

/** An attribute with the characteristics given; the others have the defaults of RFC 7643, section 2.2. */
function attribute(
  name: string,
  description: string,
  { type = "string", ...given }: Partial<Attribute> = {},
): Attribute {
  return {
    name,
    type,
    multiValued: false,
    description,
    required: false,
    ...(type === "string" && { caseExact: false }),
    mutability: "readWrite",
    returned: "default",
    uniqueness: "none",
    ...given,
  };
}

/** What every resource has in addition to the attributes of its schema (RFC 7643, section 3.1). */
const common: readonly Attribute[] = [
  attribute("id", "The id that Parley assigned.", { caseExact: true, mutability: "readOnly" }),
  attribute("externalId", "The id that the directory assigned.", { caseExact: true }),
  attribute("meta", "Metadata of the resource.", {
    type: "complex",
    mutability: "readOnly",
    subAttributes: [
      attribute("created", "When it was created.", { type: "dateTime", mutability: "readOnly" }),
      attribute("lastModified", "When it last changed.", { type: "dateTime", mutability: "readOnly" }),
    ],
  }),
];

/** The humans of the team (RFC 7643, section 4.1), with the attributes that a chat has a use for. */
export const userResourceType: ResourceType = {
  name: "User",
  endpoint: "/Users",
  schema: "urn:ietf:params:scim:schemas:core:2.0:User",
  description: "A person in the team",
  attributes: [
    attribute("userName", "The name by which the directory identifies the person.", {
      required: true,
      uniqueness: "server",
    }),
    attribute("name", "The person's name.", {
      type: "complex",
      subAttributes: [
        attribute("formatted", "The full name."),
        attribute("givenName", "The first name."),
        attribute("familyName", "The last name."),
      ],
    }),
    attribute("displayName", "The name shown to the team."),
    attribute("emails", "E-mail addresses.", {
      type: "complex",
      multiValued: true,
      subAttributes: [
        attribute("value", "The address."),
        attribute("type", "What the address is used for.", { canonicalValues: ["work", "home", "other"] }),
        attribute("primary", "Whether this is the primary address.", { type: "boolean" }),
      ],
    }),
    attribute("active", "Whether the person may use Parley.", { type: "boolean" }),
    attribute("roles", "The person's role in the team. The directory can neither add nor remove owners.", {
      type: "complex",
      multiValued: true,
      subAttributes: [
        attribute("value", "The role.", { canonicalValues: ["admin", "member"] }),
        attribute("primary", "Always true: a person has one role.", { type: "boolean" }),
      ],
    }),
  ],
};

// Both follow from a member's `value`, yet RFC 7643, section 8.7.1, calls them immutable rather than read-only.
const memberReference = attribute("$ref", "The URL of the person.", {
  type: "reference",
  caseExact: true,
  referenceTypes: [userResourceType.name],
  mutability: "immutable",
});
const memberType = attribute("type", "The resource type of the member.", {
  canonicalValues: [userResourceType.name],
  mutability: "immutable",
});

/** The private channels that the directory manages (RFC 7643, section 4.2). */
export const groupResourceType: ResourceType = {
  name: "Group",
  endpoint: "/Groups",
  schema: "urn:ietf:params:scim:schemas:core:2.0:Group",
  description: "A private channel whose members the directory manages",
  attributes: [
    attribute("displayName", "The name of the channel.", { required: true, uniqueness: "server" }),
    attribute("members", "The people in the channel.", {
      type: "complex",
      multiValued: true,
      subAttributes: [
        attribute("value", "The id of the person.", { caseExact: true, mutability: "immutable" }),
        memberReference,
        attribute("display", "The name of the person.", { mutability: "readOnly" }),
        memberType,
      ],
    }),
  ],
};

/** Whether the server ignores what a directory sends for the attribute. */
export function isIgnored(attribute: Attribute): boolean {
  return attribute.mutability === "readOnly" || attribute === memberReference || attribute === memberType;
}

/** An attribute or sub-attribute that a name refers to. `path` is its canonical name: `name.givenName`. */
export type Reference = { attribute: Attribute; subAttribute?: Attribute; path: string };

/**
 * Finds the attribute that `userName` or `name.givenName` names, with or without the schema's URN in front, in any
 * case. Returns undefined for one that the resource type does not have.
 */
export function findAttribute(resourceType: ResourceType, name: string): Reference | undefined {
  const [first = "", second, ...more] = withoutSchema(resourceType, name).split(".");
  const attribute = byName([...common, ...resourceType.attributes], first);
  if (!attribute || more.length > 0) return undefined;
  if (second === undefined) return { attribute, path: attribute.name };
  const subAttribute = findSubAttribute(attribute, second);
  return subAttribute && { attribute, subAttribute, path: `${attribute.name}.${subAttribute.name}` };
}

/** Finds the sub-attribute of this name, in any case. */
export function findSubAttribute(attribute: Attribute, name: string): Attribute | undefined {
  return byName(attribute.subAttributes ?? [], name);
}

/** Returns the name without the schema's URN in front of it; names of other schemas stay as they are. */
export function withoutSchema(resourceType: ResourceType, name: string): string {
  const prefix = `${resourceType.schema}:`;
  return name.toLowerCase().startsWith(prefix.toLowerCase()) ? name.slice(prefix.length) : name;
}

// A search of the list, not a look-up in an object: `constructor` finds nothing.
function byName(attributes: readonly Attribute[], name: string): Attribute | undefined {
  return attributes.find((attribute) => attribute.name.toLowerCase() === name.toLowerCase());
}
