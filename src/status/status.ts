import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { type BackupState, lastBackup } from "../backup/schedule.ts";
import type { Connection, Database } from "../database/database.ts";
import { connectionsOf } from "../database/postgres/open.ts";
import { type ServerState, serverState } from "../database/postgres/server-state.ts";
import { type Hold, holdOf } from "../deliveries/hold.ts";
import { selectEventTime } from "../outbox/event-store.ts";
import { beforeFanOuts, selectFanOutsAfter } from "../outbox/fan-out-store.ts";
import { selectFirstWaiting, selectNextJobs } from "../outbox/job-store.ts";
import { findServer, type ServerNote } from "../database/server-note.ts";
import { parseDatabaseUrl, shownDatabase } from "../input/database-url.ts";
import type { ListedSubscription } from "../subscriptions/schemas.ts";
import { listAllSubscriptions } from "../subscriptions/subscriptions.ts";
import { freeBytes } from "../system/disk-space.ts";
import { listTeams } from "../teams/teams.ts";
import { timestamp } from "../timestamp.ts";
import { version } from "../version.ts";
import type { Place } from "../workspace.ts";
import { type NodeStatus, nodesOf } from "./nodes.ts";

/**
 * Counting stops here, so that the status of a million waiting jobs costs as much as that of ten thousand: 1 ms. There
 * is one budget for active subscriptions and one for disabled ones.
 */
const jobsCountedMax = 10_000;

/** Jobs that wait: `is_more` when there are more than `jobs`, which is then `jobsCountedMax`. */
export type Backlog = {
  jobs: number;
  is_more: boolean;
  /** When the oldest event among the counted jobs happened. */
  oldest_at: string | null;
};

/** A subscription that needs attention. */
export type TroubledSubscription = Pick<
  ListedSubscription,
  "id" | "name" | "url" | "consecutive_failures" | "disabled_at"
> & { team: string };

/** What `parley status` shows, named as in its JSON. */
export type WorkspaceStatus = {
  version: string;
  data_dir: string;
  /** The PostgreSQL that has the data; null where that is in the data folder. */
  postgres: ({ database: string } & ServerState) | null;
  /** The servers that share the PostgreSQL; null where one has the data folder alone. */
  nodes: NodeStatus[] | null;
  /** The server of the data folder. */
  server: { running: boolean } & { [Key in keyof ServerNote]: ServerNote[Key] | null };
  backup: BackupState;
  /** `log_bytes` is null on PostgreSQL; `free_bytes` of the data folder's disk where there is no folder. */
  size: { database_bytes: number; log_bytes: number | null; free_bytes: number | null };
  teams: number;
  /** Why nothing is delivered; null when deliveries are not held. */
  hold: Hold | null;
  /** Jobs of active subscriptions. */
  queue: Backlog & {
    /** When the job that is due first was or will be due. */
    next_due_at: string | null;
    /** Events that are still being queued for their subscriptions. */
    events_to_queue: number;
  };
  subscriptions: {
    active: number;
    /** Active ones whose last attempt failed, with the longest streak first. */
    failing: TroubledSubscription[];
    /** Disabled ones, with the latest first. */
    disabled: TroubledSubscription[];
  };
  /** Jobs that wait until their subscription is enabled. */
  waiting_for_disabled: Backlog;
};

/**
 * Gathers the state of the workspace. The cost depends on the number of subscriptions, and neither on the number of
 * messages nor on that of jobs.
 */
export async function gatherStatus(database: Database, place: Place): Promise<WorkspaceStatus> {
  const { dataDir, databaseUrl } = place;
  const { activeIds, ...found } = await database.ask(stateOf);
  const connections = connectionsOf(database);
  const server = connections && (await serverState(connections));
  const files = sizeOf(dataDir);
  return {
    version,
    data_dir: dataDir,
    postgres: server ? { database: shownUrl(databaseUrl), ...server } : null,
    nodes: connections ? await nodesOf(connections, activeIds) : null,
    server: serverOf(dataDir),
    size: server ? { ...files, database_bytes: server.bytes, log_bytes: null } : files,
    ...found,
  };
}

function shownUrl(databaseUrl: string): string {
  const parsed = parseDatabaseUrl(databaseUrl);
  return "problem" in parsed ? "" : shownDatabase(parsed);
}

/** What the database knows of it. */
async function stateOf(db: Connection) {
  const teams = await listTeams(db);
  const subscriptions: Array<ListedSubscription & { team: string }> = [];
  for (const team of teams) {
    const listed = await listAllSubscriptions(db, team.id);
    for (const subscription of listed) subscriptions.push({ ...subscription, team: team.slug });
  }
  const active = subscriptions.filter(({ status }) => status === "active");
  const disabled = subscriptions.filter(({ status }) => status === "disabled");
  return {
    activeIds: active.map(({ id }) => id),
    backup: lastBackup(db),
    teams: teams.length,
    hold: holdOf(db) ?? null,
    queue: {
      ...backlogOf(db, active),
      next_due_at: nextDueOf(db, active),
      events_to_queue: selectFanOutsAfter(db, beforeFanOuts, jobsCountedMax).length,
    },
    subscriptions: {
      active: active.length,
      failing: active
        .filter(({ consecutive_failures }) => consecutive_failures > 0)
        .sort((a, b) => b.consecutive_failures - a.consecutive_failures)
        .map(troubled),
      disabled: disabled
        .sort((a, b) => (b.disabled_at ?? "").localeCompare(a.disabled_at ?? ""))
        .map(troubled),
    },
    waiting_for_disabled: backlogOf(db, disabled),
  };
}

function serverOf(dataDir: string): WorkspaceStatus["server"] {
  const { isRunning, note } = existsSync(dataDir)
    ? findServer(dataDir)
    : { isRunning: false, note: undefined };
  return {
    running: isRunning,
    url: note?.url ?? null,
    pid: note?.pid ?? null,
    version: note?.version ?? null,
    started_at: note?.started_at ?? null,
  };
}

function sizeOf(dataDir: string): WorkspaceStatus["size"] {
  const bytesOf = (name: string) => statSync(join(dataDir, name), { throwIfNoEntry: false })?.size ?? 0;
  return {
    database_bytes: bytesOf("parley.db"),
    log_bytes: bytesOf("parley.db-wal"),
    free_bytes: existsSync(dataDir) ? freeBytes(dataDir) : null,
  };
}

function backlogOf(db: Connection, subscriptions: ReadonlyArray<{ id: string }>): Backlog {
  let jobs = 0;
  let oldest = Number.POSITIVE_INFINITY;
  for (const { id } of subscriptions) {
    // One more than is shown tells whether there are more.
    const waiting = selectFirstWaiting(db, id, jobsCountedMax + 1 - jobs);
    if (waiting.count === 0) continue;
    jobs += waiting.count;
    oldest = Math.min(oldest, waiting.oldest);
    if (jobs > jobsCountedMax) break;
  }
  return {
    jobs: Math.min(jobs, jobsCountedMax),
    is_more: jobs > jobsCountedMax,
    oldest_at: oldest === Number.POSITIVE_INFINITY ? null : timestamp(selectEventTime(db, oldest)),
  };
}

function nextDueOf(db: Connection, subscriptions: ReadonlyArray<{ id: string }>): string | null {
  let first = Number.POSITIVE_INFINITY;
  for (const { id } of subscriptions) {
    const [job] = selectNextJobs(db, id, 1);
    if (job) first = Math.min(first, job.dueAt);
  }
  return first === Number.POSITIVE_INFINITY ? null : timestamp(first);
}

function troubled({
  id,
  name,
  url,
  consecutive_failures,
  disabled_at,
  team,
}: ListedSubscription & { team: string }): TroubledSubscription {
  return { id, name, url, team, consecutive_failures, disabled_at };
}
