import type { ChannelRow } from "../../channels/store.ts";
import { timestamp } from "../../timestamp.ts";
import { groupResourceType, userResourceType } from "../protocol/attributes.ts";
import type { Resource } from "../protocol/projection.ts";
import type { GroupMember } from "./store.ts";

/** Returns the managed channel as a SCIM resource, with its members unless these are undefined. */
export function groupResource(
  row: ChannelRow,
  members: readonly GroupMember[] | undefined,
  root: string,
): Resource {
  return {
    schemas: [groupResourceType.schema],
    id: row.id,
    ...(row.externalId !== null && { externalId: row.externalId }),
    displayName: row.name,
    ...(members && {
      members: members.map(({ id, name }) => ({
        value: id,
        $ref: `${root}${userResourceType.endpoint}/${id}`,
        display: name,
        type: userResourceType.name,
      })),
    }),
    meta: {
      resourceType: groupResourceType.name,
      created: timestamp(row.createdAt),
      lastModified: timestamp(row.updatedAt),
      location: `${root}${groupResourceType.endpoint}/${row.id}`,
    },
  };
}
