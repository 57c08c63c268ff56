import { openPostgres } from "../../src/database/postgres/open.ts";
import { PostgresRows } from "../crash/postgres-rows.ts";
import { until } from "./conditions.ts";
import { DatabaseProxy } from "./database-proxy.ts";
import { freshDatabase } from "./postgres.ts";
import { insertSubscriber } from "./subscriber.ts";
import { Workspace } from "./workspace.ts";

/** What writes rows and commits by itself. */
const flush = /\bappend_rows\(/;

/** Two nodes on one workspace, of which one can be kept from ending its commits, with a subscription. */
export async function startPair() {
  const parts = new AsyncDisposableStack();
  const { url } = parts.use(await freshDatabase());
  const prompt = parts.use(new Workspace(await openPostgres(url)));
  const proxy = parts.use(await DatabaseProxy.start(Number(new URL(url).port)));
  const late = parts.use(new Workspace(await openPostgres(proxy.through(url))));
  const { id: teamId, owner, general } = await prompt.team("Acme");
  const subscriptionIds = [
    await insertSubscriber(prompt.database, teamId),
    await insertSubscriber(prompt.database, teamId),
  ] as const;
  const rows = parts.use(new PostgresRows(url));
  /** Leaves what `late` writes next without its commit, until the returned function is called. */
  const leaveOpen = async (write: () => Promise<unknown>) => {
    const open = proxy.holdNext(flush, "open");
    const written = write();
    const goOn = await open;
    const idle =
      "SELECT pid FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND wait_event = 'ClientRead'";
    await until("the rows are written", async () => (await rows.column(idle)).length > 0);
    return async () => {
      goOn();
      await written;
    };
  };
  const other = await prompt.channel(owner, "other");
  return {
    url,
    prompt,
    late,
    proxy,
    teamId,
    owner,
    general,
    other,
    subscriptionIds,
    rows,
    leaveOpen,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
