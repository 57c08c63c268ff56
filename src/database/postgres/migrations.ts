import workspace from "../../../migrations/postgres/0001_workspace.sql" with { type: "text" };
import appendRows from "../../../migrations/postgres/0002_append_rows.sql" with { type: "text" };
import nodes from "../../../migrations/postgres/0003_nodes.sql" with { type: "text" };
import moves from "../../../migrations/postgres/0004_moves.sql" with { type: "text" };
import failedAttempts from "../../../migrations/postgres/0006_failed_attempts.sql" with { type: "text" };
import eventFeeds from "../../../migrations/postgres/0007_event_feeds.sql" with { type: "text" };
import alerts from "../../../migrations/postgres/0008_alerts.sql" with { type: "text" };
import ownHeaders from "../../../migrations/postgres/0009_own_headers.sql" with { type: "text" };
import certificates from "../../../migrations/postgres/0010_certificates.sql" with { type: "text" };
import refusedPosts from "../../../migrations/postgres/0011_refused_posts.sql" with { type: "text" };
import idempotencyKeys from "../../../migrations/postgres/0012_idempotency_keys.sql" with { type: "text" };
import incomingOverlap from "../../../migrations/postgres/0013_incoming_overlap.sql" with { type: "text" };
import refusedSuperseded from "../../../migrations/postgres/0014_refused_posts_superseded.sql" with { type: "text" };
import endedSecrets from "../../../migrations/postgres/0015_ended_secrets.sql" with { type: "text" };

/**
 * All migrations of a database on PostgreSQL, in the order in which they are applied, embedded in the binary. Shipped
 * migrations never change. Whoever adds one for SQLite adds its counterpart here.
 */
export const postgresMigrations: readonly { name: string; sql: string }[] = [
  { name: "0001_workspace", sql: workspace },
  { name: "0002_append_rows", sql: appendRows },
  { name: "0003_nodes", sql: nodes },
  { name: "0004_moves", sql: moves },
  { name: "0006_failed_attempts", sql: failedAttempts },
  { name: "0007_event_feeds", sql: eventFeeds },
  { name: "0008_alerts", sql: alerts },
  { name: "0009_own_headers", sql: ownHeaders },
  { name: "0010_certificates", sql: certificates },
  { name: "0011_refused_posts", sql: refusedPosts },
  { name: "0012_idempotency_keys", sql: idempotencyKeys },
  { name: "0013_incoming_overlap", sql: incomingOverlap },
  { name: "0014_refused_posts_superseded", sql: refusedSuperseded },
  { name: "0015_ended_secrets", sql: endedSecrets },
];
