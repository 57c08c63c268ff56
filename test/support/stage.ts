import type { Scope } from "../../src/tokens/scopes.ts";
import type { UserRow } from "../../src/users/store.ts";
import { type Cast, seedCast } from "./cast.ts";
import { type ApiClient, apiClient } from "./client.ts";
import { startServer, type TestServer } from "./server.ts";
import { openWorkspace, type Workspace } from "./workspace.ts";

/** A server with the cast in its workspace: where most tests of the API begin. */
export type Stage = AsyncDisposable & {
  readonly server: TestServer;
  readonly workspace: Workspace;
  readonly cast: Cast;
  /** A client that acts as the user, with a new token that has these scopes, or every scope. */
  as(user: UserRow, ...scopes: Scope[]): Promise<ApiClient>;
};

/** Starts a server of its own, puts the cast into its workspace and keeps the workspace open. */
export async function startStage(environment: Record<string, string> = {}): Promise<Stage> {
  const server = await startServer({ environment });
  const workspace = await openWorkspace(server.dataDir);
  return {
    server,
    workspace,
    cast: await seedCast(workspace),
    as: async (user, ...scopes) => apiClient(server.url, (await workspace.token(user, ...scopes)).token),
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
