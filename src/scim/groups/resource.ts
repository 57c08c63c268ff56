import type { ChannelRow } from "../../channels/store.ts";
import { timestamp } from "../../timestamp.ts";
import { groupKind, userKind } from "../protocol/attributes.ts";
import type { Resource } from "../protocol/projection.ts";
import type { GroupMember } from "./store.ts";

/** The managed channel as the directory sees it, with the members where they were looked up. */
export function groupResource(
  row: ChannelRow,
  members: readonly GroupMember[] | undefined,
  root: string,
): Resource {
  return {
    schemas: [groupKind.schema],
    id: row.id,
    ...(row.externalId !== null && { externalId: row.externalId }),
    displayName: row.name,
    ...(members && {
      members: members.map(({ id, name }) => ({
        value: id,
        $ref: `${root}${userKind.endpoint}/${id}`,
        display: name,
        type: userKind.name,
      })),
    }),
    meta: {
      resourceType: groupKind.name,
      created: timestamp(row.createdAt),
      lastModified: timestamp(row.updatedAt),
      location: `${root}${groupKind.endpoint}/${row.id}`,
    },
  };
}
