import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { openPostgres } from "../../src/database/postgres/open.ts";
import { createKeyFile } from "../../src/secrets/key-file.ts";
import { TcpProxy } from "./tcp-proxy.ts";
import { startServer, type TestServer } from "./server.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { Workspace } from "./workspace.ts";

/** Several servers on one PostgreSQL, behind a proxy that gives each connection to the next: `await using nodes = …`. */
export class Nodes implements AsyncDisposable {
  readonly servers: readonly TestServer[];
  readonly #proxy: TcpProxy;
  readonly #folders: Disposable;

  constructor(servers: readonly TestServer[], proxy: TcpProxy, folders: Disposable) {
    this.servers = servers;
    this.#proxy = proxy;
    this.#folders = folders;
  }

  /** Where all of them are reached. */
  get url(): string {
    return this.#proxy.url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy[Symbol.asyncDispose]();
    for (const server of this.servers) await server[Symbol.asyncDispose]();
    this.#folders[Symbol.dispose]();
  }
}

/** Makes the tables of a database and what `make` puts into them. */
export async function makeWorkspace<Made>(
  url: string,
  make: (workspace: Workspace) => Promise<Made>,
): Promise<Made> {
  await using workspace = new Workspace(await openPostgres(url));
  return await make(workspace);
}

/** Starts a server for each of the URLs, which lead to one database; with the same key. */
export async function startNodes(
  urls: readonly string[],
  environment: Record<string, string> = {},
): Promise<Nodes> {
  const folders = new DisposableStack();
  const servers: TestServer[] = [];
  const proxy = await TcpProxy.start(() =>
    servers.filter(({ isServing }) => isServing).map(({ url }) => Number(new URL(url).port)),
  );
  const nodes = new Nodes(servers, proxy, folders);
  try {
    const key = folders.use(temporaryFolder());
    createKeyFile(key.path);
    for (const url of urls) {
      const folder = folders.use(temporaryFolder());
      copyFileSync(join(key.path, "secret.key"), join(folder.path, "secret.key"));
      servers.push(
        await startServer({
          dataDir: folder.path,
          environment: { ...environment, PARLEY_DATABASE_URL: url },
        }),
      );
    }
    return nodes;
  } catch (error) {
    await nodes[Symbol.asyncDispose]();
    throw error;
  }
}
