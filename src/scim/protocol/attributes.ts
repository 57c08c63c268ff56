/** An attribute as RFC 7643 section 7 describes one. What is not in a definition is not stored, compared or patched. */
export type Attribute = {
  name: string;
  type: "string" | "boolean" | "dateTime" | "reference" | "complex";
  description: string;
  /** Whether it is a list. */
  multiValued?: true;
  required?: true;
  /** Whether two values that differ in case are different. */
  caseExact?: true;
  /** Whether what a directory says of it is left out: it is ours to say. */
  isReadOnly?: true;
  /** Whether a value of a list is taken out and put in, but never changed in this part of it. */
  isImmutable?: true;
  /** Whether no two resources have the same value. */
  isUnique?: true;
  /** The usual values. */
  canonicalValues?: readonly string[];
  /** What an attribute of type `complex` is made of. */
  subAttributes?: readonly Attribute[];
};

/** A type of resource, where it is found and what it has. */
export type ResourceType = {
  name: "User" | "Group";
  endpoint: "/Users" | "/Groups";
  schema: string;
  description: string;
  attributes: readonly Attribute[];
};

/** What every resource has beside its own attributes (RFC 7643, 3.1). */
const common: readonly Attribute[] = [
  {
    name: "id",
    type: "string",
    description: "The id that Parley gave.",
    caseExact: true,
    isReadOnly: true,
  },
  { name: "externalId", type: "string", description: "The id that the directory gave.", caseExact: true },
  {
    name: "meta",
    type: "complex",
    description: "What is known of the resource itself.",
    isReadOnly: true,
    subAttributes: [
      { name: "created", type: "dateTime", description: "When it was made.", isReadOnly: true },
      { name: "lastModified", type: "dateTime", description: "When it last changed.", isReadOnly: true },
    ],
  },
];

/** The humans of the team (RFC 7643, 4.1): as much of them as a chat has a use for. */
export const userResourceType: ResourceType = {
  name: "User",
  endpoint: "/Users",
  schema: "urn:ietf:params:scim:schemas:core:2.0:User",
  description: "A person of the team",
  attributes: [
    {
      name: "userName",
      type: "string",
      description: "What the directory finds the person by.",
      required: true,
      isUnique: true,
    },
    {
      name: "name",
      type: "complex",
      description: "The person's name.",
      subAttributes: [
        { name: "formatted", type: "string", description: "The whole name." },
        { name: "givenName", type: "string", description: "The first name." },
        { name: "familyName", type: "string", description: "The last name." },
      ],
    },
    { name: "displayName", type: "string", description: "The name that the team sees." },
    {
      name: "emails",
      type: "complex",
      description: "E-mail addresses.",
      multiValued: true,
      subAttributes: [
        { name: "value", type: "string", description: "The address." },
        {
          name: "type",
          type: "string",
          description: "What it is for.",
          canonicalValues: ["work", "home", "other"],
        },
        { name: "primary", type: "boolean", description: "Whether it is the main one." },
      ],
    },
    { name: "active", type: "boolean", description: "Whether the person may use Parley." },
    {
      name: "roles",
      type: "complex",
      description: "What the person may do in the team. The directory neither makes nor unmakes owners.",
      multiValued: true,
      subAttributes: [
        { name: "value", type: "string", description: "The role.", canonicalValues: ["admin", "member"] },
        { name: "primary", type: "boolean", description: "Whether it is the main one; there is only one." },
      ],
    },
  ],
};

/** The private channels that the directory manages (RFC 7643, 4.2). */
export const groupResourceType: ResourceType = {
  name: "Group",
  endpoint: "/Groups",
  schema: "urn:ietf:params:scim:schemas:core:2.0:Group",
  description: "A private channel whose people the directory decides on",
  attributes: [
    {
      name: "displayName",
      type: "string",
      description: "The name of the channel.",
      required: true,
      isUnique: true,
    },
    {
      name: "members",
      type: "complex",
      description: "The people in the channel.",
      multiValued: true,
      // RFC 7643, 8.7.1: members are added and removed, and stay what they are in between.
      subAttributes: [
        {
          name: "value",
          type: "string",
          description: "The id of the person.",
          caseExact: true,
          isImmutable: true,
        },
        {
          name: "$ref",
          type: "reference",
          description: "The address of the person.",
          isReadOnly: true,
          isImmutable: true,
        },
        { name: "display", type: "string", description: "The name of the person.", isReadOnly: true },
        {
          name: "type",
          type: "string",
          description: "What the member is.",
          canonicalValues: ["User"],
          isReadOnly: true,
          isImmutable: true,
        },
      ],
    },
  ],
};

/** An attribute, or a part of one, that a text named. `path` is its name as it is written here: `name.givenName`. */
export type Reference = { attribute: Attribute; part?: Attribute; path: string };

/**
 * The attribute that is meant by `userName`, `name.givenName` or either behind the schema's URN, in whatever case;
 * undefined for one that the kind of resource does not have.
 */
export function findAttribute(kind: ResourceType, name: string): Reference | undefined {
  const [first = "", second, ...more] = withoutSchema(kind, name).split(".");
  const attribute = byName([...common, ...kind.attributes], first);
  if (!attribute || more.length > 0) return undefined;
  if (second === undefined) return { attribute, path: attribute.name };
  const part = findPart(attribute, second);
  return part && { attribute, part, path: `${attribute.name}.${part.name}` };
}

/** The part of a complex attribute of this name, in whatever case. */
export function findPart(attribute: Attribute, name: string): Attribute | undefined {
  return byName(attribute.subAttributes ?? [], name);
}

/** The name without the schema's URN in front of it; the names of other schemas stay as they are. */
export function withoutSchema(kind: ResourceType, name: string): string {
  const prefix = `${kind.schema}:`;
  return name.toLowerCase().startsWith(prefix.toLowerCase()) ? name.slice(prefix.length) : name;
}

// A search through the list and no look-up in an object: nothing is found under `constructor`.
function byName(attributes: readonly Attribute[], name: string): Attribute | undefined {
  return attributes.find((attribute) => attribute.name.toLowerCase() === name.toLowerCase());
}
