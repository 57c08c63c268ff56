import type { Connection } from "../database/database.ts";
import { groupResourceType, type ResourceType, userResourceType } from "./protocol/attributes.ts";
import type { Directory } from "./protocol/directory.ts";
import { ScimError } from "./protocol/errors.ts";
import { listGroups } from "./groups/groups.ts";
import { project, type Resource } from "./protocol/projection.ts";
import type { Parameters } from "./protocol/parameters.ts";
import { type Query, queryOf } from "./protocol/query.ts";
import { listUsers } from "./users/users.ts";

export type Found = { total: number; startIndex: number; resources: Resource[] };

const lists = { User: listUsers, Group: listGroups };

/**
 * Returns a page of the resources of one type.
 * @throws ScimError `invalidFilter`, `invalidValue`, `tooMany`.
 */
export async function search(
  db: Connection,
  directory: Directory,
  resourceType: ResourceType,
  parameters: Parameters,
): Promise<Found> {
  return await run(db, directory, resourceType, queryOf(resourceType, parameters));
}

/**
 * Returns a page of the people followed by the groups. A resource type without an attribute of the filter is left out.
 * @throws ScimError as `search`; `invalidFilter` when it suits neither resource type.
 */
export async function searchEverything(
  db: Connection,
  directory: Directory,
  parameters: Parameters,
): Promise<Found> {
  const users = queryIfPossible(userResourceType, parameters);
  const groups = queryIfPossible(groupResourceType, parameters);
  if (users instanceof ScimError && groups instanceof ScimError) throw users;
  if (users instanceof ScimError) return await run(db, directory, groupResourceType, groups as Query);
  const people = await run(db, directory, userResourceType, users);
  if (groups instanceof ScimError) return people;
  const before = Math.max(0, users.startIndex - 1 - people.total);
  const count = groups.count - people.resources.length;
  const rest = await run(db, directory, groupResourceType, { ...groups, startIndex: before + 1, count });
  return {
    total: people.total + rest.total,
    startIndex: users.startIndex,
    resources: [...people.resources, ...rest.resources],
  };
}

async function run(
  db: Connection,
  directory: Directory,
  resourceType: ResourceType,
  query: Query,
): Promise<Found> {
  const { total, resources } = await lists[resourceType.name](db, directory, query);
  const { startIndex, projection } = query;
  return { total, startIndex, resources: resources.map((resource) => project(resource, projection)) };
}

function queryIfPossible(resourceType: ResourceType, parameters: Parameters): Query | ScimError {
  try {
    return queryOf(resourceType, parameters);
  } catch (error) {
    if (error instanceof ScimError && error.scimType === "invalidFilter") return error;
    throw error;
  }
}
