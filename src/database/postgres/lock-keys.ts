/**
 * The advisory locks of a workspace, as pairs of a class and a key. PostgreSQL keeps those of one database apart from
 * those of another.
 */
export const lockClass = 7_261_534;

/** Shared by each commit of rows that were put down; exclusive for whoever changes anything else. */
export const changesLock = 1;

/** Shared, for as long as it lives, by each server; exclusive for whoever moves the workspace or changes its tables. */
export const serversLock = 2;

/** Exclusive for whoever looks which migrations are missing and applies them. */
export const migrationsLock = 3;

/** The classes of the locks that a node's session holds: of its own number, of shards, of what one node at a time does. */
export const nodeLocks = 7_261_535;
export const shardLocks = 7_261_536;
export const soleLocks = 7_261_537;
