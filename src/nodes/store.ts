import type { Transaction } from "../database/database.ts";
import { timeOfDatabase as now } from "../database/postgres/clock.ts";
import type { Connections } from "../database/postgres/connections.ts";
import { changesLock, lockClass, nodeLocks, shardLocks, soleLocks } from "../database/postgres/lock-keys.ts";
import type { Session } from "../database/postgres/session.ts";
import { prepared } from "../database/prepared.ts";

/** What one node at a time does, with the keys of its locks. */
const soleTasks = { retention: 1 };

export type SoleTask = keyof typeof soleTasks;

/** A server of the workspace. */
export type NodeRow = {
  number: number;
  id: string;
  hostName: string;
  url: string;
  version: string;
  pid: number;
  delivers: boolean;
  /** By the clock of the database, in milliseconds since 1970. */
  startedAt: number;
  /** How long ago it was heard from, in milliseconds. */
  silentMs: number;
  /** The process of the database that serves its session. */
  backend: number;
};

// What sessions hold in this database; those of others have numbers of their own.
const heldLocks = `
  SELECT classid::bigint AS class, objid::bigint AS key, pid FROM pg_locks
  WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid IN (${nodeLocks}, ${shardLocks})
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/**
 * Adds the node, which is alive from then on while the session is. Returns its number. It waits for the change that is
 * under way, so that one that looks for nodes (`selectHostOfAny`) misses none that is there when it commits.
 */
export async function insertNode(
  session: Session,
  node: Pick<NodeRow, "id" | "hostName" | "url" | "version" | "pid" | "delivers">,
): Promise<number> {
  const { rows } = await session.query(
    `INSERT INTO nodes (id, host_name, url, version, pid, delivers, started_at, seen_at)
     VALUES ($1, $2, $3, $4, $5, $6, ${now}, ${now})
     RETURNING number, pg_try_advisory_lock(${nodeLocks}, number),
       pg_advisory_xact_lock_shared(${lockClass}, ${changesLock})::text`,
    [node.id, node.hostName, node.url, node.version, node.pid, node.delivers],
  );
  return Number(rows[0]?.[0]);
}

/** Notes that the node is there. Returns the time of the database; undefined when the node's row is gone. */
export async function updateSeen(session: Session, number: number): Promise<number | undefined> {
  const { rows } = await session.query(
    `UPDATE nodes SET seen_at = ${now} WHERE number = $1 RETURNING seen_at`,
    [number],
  );
  return rows[0] && Number(rows[0][0]);
}

/** Makes others deliver what the node did. */
export async function updateLeaving(session: Session, number: number): Promise<void> {
  await session.query("UPDATE nodes SET delivers = 0 WHERE number = $1", [number]);
}

/** The nodes that are alive, oldest first. */
export async function selectNodes(connections: Pick<Connections, "query">): Promise<NodeRow[]> {
  const { rows } = await connections.query(
    `WITH held AS MATERIALIZED (${heldLocks})
     SELECT number, id, host_name, url, version, nodes.pid, delivers, started_at, ${now} - seen_at, held.pid
     FROM nodes JOIN held ON held.class = ${nodeLocks} AND held.key = number ORDER BY number`,
  );
  return rows.map(([number, id, hostName, url, version, pid, delivers, startedAt, silentMs, backend]) => ({
    number: Number(number),
    id: String(id),
    hostName: String(hostName),
    url: String(url),
    version: String(version),
    pid: Number(pid),
    delivers: delivers === 1,
    startedAt: Number(startedAt),
    silentMs: Number(silentMs),
    backend: Number(backend),
  }));
}

// Not a SELECT at its start, so it is always made in the change's own transaction.
const hostStatement = prepared(({ $client }) =>
  $client.prepare<{ hostName: string }, []>(
    `WITH held AS MATERIALIZED (${heldLocks})
     SELECT host_name AS "hostName" FROM nodes JOIN held ON held.class = ${nodeLocks} AND held.key = number
     ORDER BY number LIMIT 1`,
  ),
);

/** The host of the oldest node that is alive; undefined when there is none. None comes before the change has ended. */
export function selectHostOfAny(tx: Transaction): string | undefined {
  return hostStatement(tx).get()?.hostName;
}

/** The shards that any session holds, with the number of the node that it is of; null for one that is leaving. */
export async function selectHeldShards(
  connections: Pick<Connections, "query">,
): Promise<Array<{ shard: number; node: number | null }>> {
  const { rows } = await connections.query(
    `WITH held AS MATERIALIZED (${heldLocks})
     SELECT shards.key, nodes.key FROM held AS shards
     LEFT JOIN held AS nodes ON nodes.class = ${nodeLocks} AND nodes.pid = shards.pid
     WHERE shards.class = ${shardLocks}`,
  );
  return rows.map(([shard, node]) => ({ shard: Number(shard), node: node === null ? null : Number(node) }));
}

/** Deletes rows of nodes that ended. */
export async function deleteEndedNodes(session: Session): Promise<void> {
  await session.query(
    `WITH held AS MATERIALIZED (${heldLocks})
     DELETE FROM nodes WHERE NOT EXISTS (SELECT FROM held WHERE class = ${nodeLocks} AND key = number)`,
  );
}

/** Ends the session of a node that hangs, and with it whatever that owns. */
export async function endSession(session: Session, { backend }: NodeRow): Promise<void> {
  await session.query("SELECT pg_terminate_backend($1)", [backend]);
}

/** Returns those of the shards that nobody else holds, which this session holds from then on. */
export async function claimShards(session: Session, shards: readonly number[]): Promise<number[]> {
  const { rows } = await session.query(
    `SELECT shard FROM unnest($1::integer[]) AS shard WHERE pg_try_advisory_lock(${shardLocks}, shard)`,
    [shards],
  );
  return rows.map(([shard]) => Number(shard));
}

/** Gives the shards back. */
export async function releaseShards(session: Session, shards: readonly number[]): Promise<void> {
  await session.query(
    `SELECT count(pg_advisory_unlock(${shardLocks}, shard)) FROM unnest($1::integer[]) AS shard`,
    [shards],
  );
}

/** Whether no other node does this; from then on none does until `endSoleTask`. */
export async function beginSoleTask(session: Session, task: SoleTask): Promise<boolean> {
  const { rows } = await session.query(`SELECT pg_try_advisory_lock(${soleLocks}, $1::integer)`, [
    soleTasks[task],
  ]);
  return rows[0]?.[0] === 1;
}

/** See `beginSoleTask`. */
export async function endSoleTask(session: Session, task: SoleTask): Promise<void> {
  await session.query(`SELECT pg_advisory_unlock(${soleLocks}, $1::integer)`, [soleTasks[task]]);
}
