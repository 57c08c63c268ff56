import type { Connections } from "./connections.ts";

/** A standby that replicates from the server. What the login may not see is null. */
export type Standby = {
  name: string | null;
  /** `streaming` when all is well. */
  state: string | null;
  /** `sync` or `quorum` where commits wait for it, `potential` or `async` where not. */
  sync_state: string | null;
  /** How much of the log it has not applied. */
  lag_bytes: number | null;
  lag_ms: number | null;
};

/** The PostgreSQL server and the workspace's database in it. */
export type ServerState = {
  /** As in `15.18`. */
  version: string;
  role: "primary" | "standby";
  /** The size of the workspace's database. */
  bytes: number;
  /** Connections to any database of the server, and the maximum, without those that are reserved for superusers. */
  connections: { used: number; max: number };
  standbys: Standby[];
  /** How far a standby is behind its primary, in milliseconds; null on a primary. */
  behind_ms: number | null;
};

// What pg_stat_activity shows of others depends on the login's rights, this does not.
const stateQuery = `
  SELECT current_setting('server_version'), pg_is_in_recovery(), pg_database_size(current_database()),
    (SELECT sum(numbackends) FROM pg_stat_database),
    current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer,
    CASE WHEN pg_is_in_recovery()
      THEN coalesce((extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000)::bigint, 0) END`;

const standbysQuery = `
  SELECT application_name, state, sync_state,
    pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END,
      replay_lsn)::bigint,
    (extract(epoch FROM replay_lag) * 1000)::bigint
  FROM pg_stat_replication ORDER BY application_name, pid`;

/** Looks at the server: two statements, of which the size of the database takes a few milliseconds. */
export async function serverState({ query }: Pick<Connections, "query">): Promise<ServerState> {
  const [state, standbys] = await Promise.all([query(stateQuery), query(standbysQuery)]);
  const [version, isStandby, bytes, used, max, behindMs] = state.rows[0] ?? [];
  return {
    // Debian's name of its package follows.
    version: String(version).split(" ")[0] ?? "",
    role: isStandby === 1 ? "standby" : "primary",
    bytes: Number(bytes),
    connections: { used: Number(used), max: Number(max) },
    standbys: standbys.rows.map(([name, standbyState, syncState, lagBytes, lagMs]) => ({
      name: textOrNull(name),
      state: textOrNull(standbyState),
      sync_state: textOrNull(syncState),
      lag_bytes: lagBytes === null ? null : Math.max(0, Number(lagBytes)),
      // It is measured only while something is replicated.
      lag_ms: lagMs === null ? (lagBytes === null ? null : 0) : Number(lagMs),
    })),
    behind_ms: behindMs === null ? null : Number(behindMs),
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
