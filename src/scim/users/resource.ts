import { timestamp } from "../../timestamp.ts";
import type { Email, UserRow } from "../../users/store.ts";
import { userResourceType } from "../protocol/attributes.ts";
import type { Resource } from "../protocol/projection.ts";

/**
 * Returns the person as a SCIM resource. `root` is the URL of `/scim/v2`. Attributes without a value are left out,
 * except the e-mail address: directories do not accept people without one, so a person who has none gets a placeholder
 * under a domain that never exists (RFC 2606).
 */
export function userResource(row: UserRow, emails: readonly Email[], root: string): Resource {
  const name = present({
    formatted: row.formattedName,
    givenName: row.givenName,
    familyName: row.familyName,
  });
  const shown =
    emails.length > 0 ? emails : [{ value: placeholderEmail(row.id), type: "work", isPrimary: true }];
  return {
    schemas: [userResourceType.schema],
    id: row.id,
    ...present({ externalId: row.externalId }),
    userName: row.userName,
    ...(Object.keys(name).length > 0 && { name }),
    displayName: row.name,
    emails: shown.map(({ value, type, isPrimary }) => ({ value, ...present({ type }), primary: isPrimary })),
    active: row.deactivatedAt === null,
    roles: [{ value: row.role, primary: true }],
    meta: {
      resourceType: userResourceType.name,
      created: timestamp(row.createdAt),
      lastModified: timestamp(row.updatedAt),
      location: `${root}${userResourceType.endpoint}/${row.id}`,
    },
  };
}

/** Returns the placeholder e-mail address of a person who has none. */
export function placeholderEmail(id: string): string {
  return `${id}@parley.invalid`;
}

function present(values: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== null),
  );
}
