import type { ChannelRow } from "../../src/channels/store.ts";
import type { UserRow } from "../../src/users/store.ts";
import { createPerson } from "../../src/accounts/people.ts";
import { getUser } from "../../src/users/users.ts";
import { rowsOf } from "./data.ts";
import { type ApiClient, apiClient } from "./client.ts";
import { startServer, type TestServer } from "./server.ts";
import { actor, openWorkspace, type Workspace } from "./workspace.ts";
import {
  type Group,
  groupSchema,
  scimClient,
  type ScimClient,
  type User,
  userSchema,
} from "./scim-client.ts";

/** What the directory of every test is let in with. */
export const scimToken = "correct-horse-battery-staple";

/** A server with a directory, and a team with its owner and `#general`. */
export type ScimStage = AsyncDisposable & {
  readonly server: TestServer;
  readonly workspace: Workspace;
  readonly teamId: string;
  readonly owner: UserRow;
  readonly general: ChannelRow;
  readonly scim: ScimClient;
  /** A client of the API that acts as the user. */
  as(user: UserRow): Promise<ApiClient>;
  /** The row of somebody whom the directory knows by this id. */
  workspaceUser(id: string): Promise<UserRow>;
  /** Runs statements on the data while the server does: for more people than the domain adds in the time of a test. */
  seed(...statements: Array<[sql: string, ...parameters: Array<string | number>]>): Promise<void>;
  /** Adds a person as the command line does. */
  person(name: string, email?: string): Promise<UserRow>;
  /** Adds a person as a directory does. */
  user(userName: string, more?: object): Promise<User>;
  /** Adds a group as a directory does. */
  group(displayName: string, members?: readonly User[], more?: object): Promise<Group>;
};

/** Starts a server with `SCIM_TOKEN` set. `contentType` is what the directory says of its bodies. */
export async function startScimStage(
  options: { contentType?: string; environment?: Record<string, string> } = {},
): Promise<ScimStage> {
  const server = await startServer({ environment: { SCIM_TOKEN: scimToken, ...options.environment } });
  const workspace = await openWorkspace(server.dataDir);
  const { id: teamId, owner, general } = await workspace.team("Acme");
  const scim = scimClient(server.url, scimToken, options.contentType);
  return {
    server,
    workspace,
    teamId,
    owner,
    general,
    scim,
    as: async (user) => apiClient(server.url, (await workspace.token(user)).token),
    workspaceUser: async (id) => await workspace.database.ask((db) => getUser(db, teamId, id)),
    seed: async (...statements) => {
      for (const [sql, ...parameters] of statements) await rowsOf(server.dataDir, sql, ...parameters);
    },
    person: async (name, email) =>
      await workspace.database.write((tx) =>
        createPerson(tx, teamId, { name, role: "member", email }, actor),
      ),
    user: async (userName, more = {}) => {
      const body = { schemas: [userSchema], userName, ...more };
      return (await scim.post<User>("/Users", body)).json;
    },
    group: async (displayName, members = [], more = {}) => {
      const body = {
        schemas: [groupSchema],
        displayName,
        members: members.map(({ id }) => ({ value: id })),
        ...more,
      };
      return (await scim.post<Group>("/Groups", body)).json;
    },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
