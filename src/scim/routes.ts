import { Elysia } from "elysia";
import type { Database, Connection, Transaction } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import { bearerToken, unauthenticated } from "../http/authentication.ts";
import { noteInternalError } from "../http/error-responses.ts";
import type { WrongCredentials } from "../http/wrong-credentials.ts";
import {
  scimResponse,
  emptyResponse,
  internalErrorResponse,
  listResponse,
  errorResponseOf,
} from "./responses.ts";
import { groupResourceType, type ResourceType, userResourceType } from "./protocol/attributes.ts";
import { readObject } from "./body.ts";
import { tokenCheck } from "./credential.ts";
import type { Directory } from "./protocol/directory.ts";
import { resourceTypes, schemas, serviceProviderConfig } from "./discovery.ts";
import { ScimError } from "./protocol/errors.ts";
import { createGroup, deleteGroup, getGroup, patchGroup, replaceGroup } from "./groups/groups.ts";
import { project, type Projection, projectionOf, type Resource } from "./protocol/projection.ts";
import { parametersOfBody, parametersOfUrl } from "./protocol/parameters.ts";
import { type Found, search, searchEverything } from "./search.ts";
import { findDirectoryTeam } from "./team.ts";
import { createUser, deleteUser, getUser, patchUser, replaceUser } from "./users/users.ts";
import { workOf } from "../tracing/request-work.ts";

/** The prefix of all SCIM routes. */
const scimPath = "/scim/v2";

/**
 * Returns the canonical form of a path under `/scim/v2`, or undefined for any other path. Extra slashes are ignored: a
 * base URL that ends with one leads to two, Microsoft's collection of requests has a trailing one, and no client
 * follows a redirect with a POST.
 */
export function directoryPath(path: string): string | undefined {
  if (!`${path}/`.startsWith(`${scimPath}/`)) return undefined;
  return path.replace(/\/+/g, "/").replace(/\/$/, "");
}

/** The operator's settings: the token, and the team, which is empty when there is only one. */
export type ScimAccess = { token: string; team: string };

type Context = { database: Database; wrongCredentials: WrongCredentials; baseUrl: () => string };

/** The operations on one resource type. */
type Operations = {
  resourceType: ResourceType;
  get: (db: Connection, directory: Directory, id: string, projection: Projection) => Promise<Resource>;
  create: (tx: Transaction, directory: Directory, body: object, projection: Projection) => Promise<Resource>;
  replace: (
    tx: Transaction,
    directory: Directory,
    id: string,
    body: object,
    projection: Projection,
  ) => Promise<Resource>;
  /** Returns the resource, or undefined for a response with 204. */
  patch: (
    tx: Transaction,
    directory: Directory,
    id: string,
    body: object,
    projection: Projection,
  ) => Promise<Resource | undefined>;
  remove: (tx: Transaction, directory: Directory, id: string) => Promise<void>;
};

const userOperations: Operations = {
  resourceType: userResourceType,
  get: getUser,
  create: createUser,
  replace: replaceUser,
  patch: patchUser,
  remove: deleteUser,
};

const groupOperations: Operations = {
  resourceType: groupResourceType,
  get: getGroup,
  create: createGroup,
  replace: replaceGroup,
  patch: patchGroup,
  remove: deleteGroup,
};

/**
 * The routes of `/scim/v2` (RFC 7644). Every response, errors included, has SCIM's own form. The token is checked
 * before anything else: 401 without it, and 429 when the client's address has sent too many wrong credentials.
 */
export function scimRoutes({ database, wrongCredentials, baseUrl }: Context, { token, team }: ScimAccess) {
  const isToken = tokenCheck(token);
  // By default Elysia assumes that the path starts at the 11th character or later; hosts may be shorter (`http://x/`).
  const scim = new Elysia({ prefix: scimPath, normalize: false, handler: { standardHostname: false } })
    .onError(({ error, request }) => {
      const response = errorResponseOf(error);
      if (!response || response.status === 503) noteInternalError(request, error);
      return response ?? internalErrorResponse();
    })
    .resolve(async ({ request }): Promise<{ directory: Directory }> => {
      if (!isToken(bearerToken(request) ?? "")) throw wrongCredentials.errorOf(request, unauthenticated());
      return {
        directory: { teamId: await database.ask((db) => teamId(db, team)), root: baseUrl() + scimPath },
      };
    });

  const bodiless = { parse: "none" } as const;
  scim
    .get("/ServiceProviderConfig", ({ directory }) =>
      scimResponse(200, serviceProviderConfig(directory.root)),
    )
    .get("/ResourceTypes", ({ directory }) => listOf(resourceTypes(directory.root)))
    .get("/ResourceTypes/:id", ({ directory, params }) => one(resourceTypes(directory.root), params.id))
    .get("/Schemas", ({ directory }) => listOf(schemas(directory.root)))
    .get("/Schemas/:id", ({ directory, params }) => one(schemas(directory.root), params.id))
    .post(
      "/.search",
      async ({ directory, request }) => {
        const parameters = parametersOfBody(await readObject(request));
        return found(await database.ask((db) => searchEverything(db, directory, parameters)));
      },
      bodiless,
    );

  for (const { resourceType, get, create, replace, patch, remove } of [userOperations, groupOperations]) {
    scim
      .post(
        `${resourceType.endpoint}/.search`,
        async ({ directory, request }) => {
          const parameters = parametersOfBody(await readObject(request));
          return found(await database.ask((db) => search(db, directory, resourceType, parameters)));
        },
        bodiless,
      )
      .get(resourceType.endpoint, async ({ directory, request }) => {
        const parameters = parametersOfUrl(request.url);
        return found(await database.ask((db) => search(db, directory, resourceType, parameters)));
      })
      .post(
        resourceType.endpoint,
        async ({ directory, request }) => {
          const projection = projectionOf(resourceType, parametersOfUrl(request.url));
          const body = await readObject(request);
          const created = await database.write(
            (tx) => create(tx, directory, body, projection),
            workOf(request),
          );
          return scimResponse(201, project(created, projection), { location: locationOf(created) });
        },
        bodiless,
      )
      .get(`${resourceType.endpoint}/:id`, async ({ directory, request, params }) => {
        const projection = projectionOf(resourceType, parametersOfUrl(request.url));
        const resource = await database.ask((db) => get(db, directory, params.id, projection));
        return scimResponse(200, project(resource, projection));
      })
      .put(
        `${resourceType.endpoint}/:id`,
        async ({ directory, request, params }) => {
          const projection = projectionOf(resourceType, parametersOfUrl(request.url));
          const body = await readObject(request);
          const updated = await database.write(
            (tx) => replace(tx, directory, params.id, body, projection),
            workOf(request),
          );
          return scimResponse(200, project(updated, projection));
        },
        bodiless,
      )
      .patch(
        `${resourceType.endpoint}/:id`,
        async ({ directory, request, params }) => {
          const projection = projectionOf(resourceType, parametersOfUrl(request.url));
          const body = await readObject(request);
          const updated = await database.write(
            (tx) => patch(tx, directory, params.id, body, projection),
            workOf(request),
          );
          return updated ? scimResponse(200, project(updated, projection)) : emptyResponse();
        },
        bodiless,
      )
      .delete(
        `${resourceType.endpoint}/:id`,
        async ({ directory, request, params }) => {
          await database.write((tx) => remove(tx, directory, params.id), workOf(request));
          return emptyResponse();
        },
        bodiless,
      );
  }

  for (const path of ["/Me", "/Bulk"]) {
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
      scim.route(method, path, () => notSupported(path), { config: {}, ...bodiless });
    }
  }
  return scim;
}

async function teamId(db: Connection, name: string): Promise<string> {
  try {
    const team = await findDirectoryTeam(db, name);
    if (team) return team.id;
  } catch (error) {
    // Not a 404: a directory would conclude that all its people are gone.
    throw error instanceof DomainError ? new ScimError(503, error.message) : error;
  }
  throw new ScimError(503, "There is no team yet.");
}

function found({ resources, total, startIndex }: Found): Response {
  return listResponse(resources, total, startIndex);
}

function listOf(resources: readonly object[]): Response {
  return listResponse(resources, resources.length, 1);
}

function one(resources: ReadonlyArray<{ id: string }>, id: string): Response {
  const resource = resources.find((each) => each.id.toLowerCase() === id.toLowerCase());
  if (!resource) throw new ScimError(404, `There is no ${JSON.stringify(id.slice(0, 100))} here.`);
  return scimResponse(200, resource);
}

function locationOf({ meta }: Resource): string {
  return (meta as { location: string }).location;
}

function notSupported(path: string): never {
  throw new ScimError(501, `${scimPath}${path} is not supported.`);
}
