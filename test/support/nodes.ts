import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ChannelRow } from "../../src/channels/store.ts";
import { openPostgres, type PostgresDatabase } from "../../src/database/postgres/open.ts";
import { sayNow } from "../../src/nodes/notices.ts";
import { createKeyFile, findKey, keyFile } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { createLog } from "../../src/log/log.ts";
import { createSubscription } from "../../src/subscriptions/subscriptions.ts";
import type { UserRow } from "../../src/users/store.ts";
import { type ApiClient, apiClient } from "./client.ts";
import { freshDatabase } from "./postgres.ts";
import { startServer, type TestServer } from "./server.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { actor, Workspace } from "./workspace.ts";

/** Settings that let receivers stand on this machine and failures follow each other quickly, before what a test adds. */
const defaultEnvironment = {
  WEBHOOKS_BLOCK_PRIVATE_URLS: "false",
  WEBHOOKS_BACKOFF_BASE: "0.01",
  WEBHOOKS_DISABLE_AFTER: "1000",
};

/** Several compiled servers on one PostgreSQL, with one team. */
export type NodesStage = AsyncDisposable & {
  readonly url: string;
  readonly workspace: Workspace;
  readonly database: PostgresDatabase;
  readonly team: { id: string; owner: UserRow; general: ChannelRow };
  /** The owner's token, with every scope. */
  readonly token: string;
  readonly nodes: TestServer[];
  /** Starts one more, with a data folder of its own that holds the workspace's key. */
  add: (environment?: Record<string, string>) => Promise<TestServer>;
  /** A data folder for one more. */
  dataDir: (options?: { hasKey?: boolean }) => string;
  /** Acts as the team's owner on that node. */
  api: (node: number) => ApiClient;
  /** Subscribes the address to new messages. Returns the subscription's id. */
  subscribe: (url: string) => Promise<string>;
};

/**
 * Starts so many nodes, on an empty database of their own or on that of `url`. What the test changes beside them wakes
 * them as a command would. `environment` adds to the settings of each.
 */
export async function startNodes(
  count: number,
  environment: Record<string, string> = {},
  url?: string,
): Promise<NodesStage> {
  const started = new AsyncDisposableStack();
  try {
    const at = url ?? started.use(await freshDatabase()).url;
    return await startWith(started, at, count, environment);
  } catch (error) {
    await started.disposeAsync();
    throw error;
  }
}

async function startWith(
  started: AsyncDisposableStack,
  url: string,
  count: number,
  environment: Record<string, string>,
): Promise<NodesStage> {
  const folder = temporaryFolder();
  started.defer(() => folder[Symbol.dispose]());
  createKeyFile(folder.path);
  const opened = await openPostgres(url);
  const workspace = started.use(new Workspace(opened));
  opened.onWork(() => void sayNow(opened.connections, "work").catch(() => {}));
  const team = await workspace.team("Acme");
  const { token } = await workspace.token(team.owner);
  const nodes: TestServer[] = [];
  let folders = 0;

  const dataDir = ({ hasKey = true } = {}) => {
    const path = join(folder.path, `node-${++folders}`);
    mkdirSync(path, { mode: 0o700 });
    if (hasKey) copyFileSync(keyFile(folder.path), keyFile(path));
    return path;
  };
  const add = async (more: Record<string, string> = {}) => {
    const server = await startServer({
      dataDir: dataDir(),
      environment: { ...defaultEnvironment, PARLEY_DATABASE_URL: url, ...environment, ...more },
    });
    nodes.push(started.use(server));
    return server;
  };
  for (let n = 0; n < count; n++) await add();
  const vault = new Vault(findKey(folder.path, ""));
  const parts = {
    database: opened,
    guard: { blockPrivate: false },
    vault,
    log: createLog("silent"),
    maxSubscriptions: 1_000,
  };
  return {
    url,
    workspace,
    database: opened,
    team,
    token,
    nodes,
    add,
    dataDir,
    api: (node) => apiClient(nodes[node]?.url ?? "", token),
    async subscribe(receiver) {
      const input = { name: `to ${receiver}`, url: receiver, events: ["message.created"] };
      return (await createSubscription(parts, team.id, input, actor)).data.id;
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
