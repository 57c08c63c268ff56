import type { Database as SqliteFile } from "bun:sqlite";
import { drizzle } from "drizzle-orm/bun-sqlite";
import type { WebhooksVisibility } from "../../settings.ts";
import { Commit } from "../commit.ts";
import type { Connection, Database, Transaction } from "../database.ts";
import * as schema from "../schema.ts";
import { appendRowsOver } from "./append-rows.ts";
import { waitWhereAwaited } from "./awaited.ts";
import { type Connections, openConnections } from "./connections.ts";
import { explainDatabaseError } from "./errors.ts";
import { readClock } from "./clock.ts";
import { requireHere } from "./here.ts";
import { migratePostgres } from "./migrate.ts";
import { Outage } from "./outage.ts";
import { Questions } from "./questions.ts";
import { retried } from "./retries.ts";
import { waitTrouble } from "./standby-wait.ts";
import { PostgresStatements } from "./statements.ts";
import { StatementWrites } from "./statement-writes.ts";
import { VersionLook } from "./version-look.ts";
import { WriteLoop } from "./write-loop.ts";

/** A workspace in a PostgreSQL database, which several servers may share. */
export type PostgresDatabase = Database & {
  /** For what is no workspace's data: what nodes know of each other, locks and notices. */
  readonly connections: Connections;
  readonly versionLook: VersionLook;
};

/** The database if several servers may share it; undefined for a file. */
export function sharedDatabase(database: Database): PostgresDatabase | undefined {
  return "connections" in database ? (database as PostgresDatabase) : undefined;
}

/** The connections of a database that several servers may share; undefined for a file. */
export function connectionsOf(database: Database): Connections | undefined {
  return sharedDatabase(database)?.connections;
}

/** The maximum number of connections of one process, besides the one that listens. */
export const connectionsMax = 8;

/**
 * Opens the workspace of a PostgreSQL database, and applies missing migrations. Without `mayBeNew` there must be one.
 * @throws DomainError `not_found` when there must be one and is none, or it was moved elsewhere; `unwritable` when the database cannot be reached;
 *   `data_too_new` when a newer binary has used it.
 */
export async function openPostgres(
  url: string,
  {
    webhooksVisibility = "workspace",
    mayBeNew = true,
    onMigration,
  }: {
    webhooksVisibility?: WebhooksVisibility;
    mayBeNew?: boolean;
    onMigration?: (name: string, number: number, of: number) => void;
  } = {},
): Promise<PostgresDatabase> {
  const connections = openConnections(url, { max: connectionsMax });
  try {
    await migratePostgres(connections, { mayBeNew, ...(onMigration && { onMigration }) });
    await requireHere(connections.query);
    await readClock(connections);
  } catch (error) {
    await connections.close();
    throw explainDatabaseError(error);
  }
  const look = new VersionLook(connections);
  // What is remembered of a version is the same for all that only read it.
  const committed = {};
  const connection = (
    statements: PostgresStatements,
    version: () => string,
    remembered: object = {},
  ): Connection =>
    Object.assign(drizzle(statements as unknown as SqliteFile, { schema }), {
      engine: "postgres" as const,
      cacheVersion: { now: version, forget: () => {}, remembered },
      webhooksVisibility,
    }) as unknown as Connection;
  const transaction = (...of: Parameters<typeof connection>): Transaction =>
    Object.assign(connection(...of), { commit: new Commit() });

  const asked = new PostgresStatements();
  const questions = new Questions(connections, look, asked, (version) =>
    connection(asked, version, committed),
  );

  const listeners: Array<Parameters<Database["onWork"]>[0]> = [];
  const announce = (commit: Commit) => {
    if (commit.hasNews) for (const listener of listeners) listener(commit.subscriptionsWithWork, commit);
  };
  // A commit without rows, which notes its number.
  const commitNothing = appendRowsOver(connections);
  const outage = new Outage(connections, () => commitNothing(new Commit(), null));
  const explain = (error: unknown) => outage.explain(error);
  const commits = {
    requireStandby: () => outage.requireStandby(),
    explain,
    explainCommit: (error: unknown) => outage.explainCommit(error),
  };

  const stated = new PostgresStatements();
  const statementWrites = new StatementWrites({
    connections,
    statements: stated,
    connect(version) {
      const tx = transaction(stated, version);
      waitWhereAwaited(tx, stated);
      return tx;
    },
    announce,
    ...commits,
  });
  const putDown = new PostgresStatements();
  const writeLoop = new WriteLoop({
    connections,
    look,
    statements: putDown,
    connect: (version) => transaction(putDown, version, committed),
    appendRows: appendRowsOver(connections),
    leave: (call) => statementWrites.add(call),
    announce,
    ...commits,
  });

  return {
    connections: {
      ...connections,
      query: (text, parameters) =>
        retried(connections, text, parameters).catch((error: unknown) => Promise.reject(explain(error))),
    },
    versionLook: look,
    ask: (question, onPresumed) =>
      questions.ask(question, onPresumed).catch((error: unknown) => Promise.reject(explain(error))),
    // Refused here too, for those before it in the loop may wait for long.
    write: (change, work) =>
      outage.lacksStandby
        ? Promise.reject(explain(waitTrouble("no_standby")))
        : writeLoop.write(change, work),
    onWork: (listener) => void listeners.push(listener),
    observeCommits(observer) {
      writeLoop.observer = observer;
      statementWrites.observer = observer;
    },
    failure: () => outage.failure(),
    onTrouble: (listener) => outage.listen(listener),
    probeWrite: () => outage.probe(),
    async close() {
      outage.close();
      await writeLoop.drained();
      await statementWrites.drained();
      // Those who hear of the last commits hear of them a turn later.
      await new Promise((resolve) => setImmediate(resolve));
      await connections.close();
    },
  };
}
