import type { Database as SqliteFile } from "bun:sqlite";
import workspace from "../../migrations/0001_workspace.sql" with { type: "text" };
import webhooks from "../../migrations/0002_webhooks.sql" with { type: "text" };
import directory from "../../migrations/0003_directory.sql" with { type: "text" };
import workspaceStamp from "../../migrations/0004_workspace_stamp.sql" with { type: "text" };
import leanerWrites from "../../migrations/0005_leaner_writes.sql" with { type: "text" };
import eventsWait from "../../migrations/0006_events_wait_while_disabled.sql" with { type: "text" };
import queueClock from "../../migrations/0007_queue_clock.sql" with { type: "text" };
import subscriptionCreators from "../../migrations/0008_subscription_creators.sql" with { type: "text" };
import fanOuts from "../../migrations/0009_fan_outs.sql" with { type: "text" };
import eventTraceparent from "../../migrations/0011_event_traceparent.sql" with { type: "text" };
import deliveryHold from "../../migrations/0012_delivery_hold.sql" with { type: "text" };
import backupSchedule from "../../migrations/0013_backup_schedule.sql" with { type: "text" };
import keyRotation from "../../migrations/0014_key_rotation.sql" with { type: "text" };
import moves from "../../migrations/0015_moves.sql" with { type: "text" };
import eventFeeds from "../../migrations/0016_event_feeds.sql" with { type: "text" };
import alerts from "../../migrations/0017_alerts.sql" with { type: "text" };
import ownHeaders from "../../migrations/0018_own_headers.sql" with { type: "text" };
import certificates from "../../migrations/0019_certificates.sql" with { type: "text" };
import refusedPosts from "../../migrations/0020_refused_posts.sql" with { type: "text" };
import idempotencyKeys from "../../migrations/0021_idempotency_keys.sql" with { type: "text" };
import incomingOverlap from "../../migrations/0022_incoming_overlap.sql" with { type: "text" };
import refusedSuperseded from "../../migrations/0023_refused_posts_superseded.sql" with { type: "text" };
import endedSecrets from "../../migrations/0024_ended_secrets.sql" with { type: "text" };
import { completeEarlyTables } from "../../migrations/0004_early_tables.ts";
import { hashSignedAddresses } from "../../migrations/0010_signed_addresses.ts";

/** One step from one version of the data to the next: SQL, or synchronous code for what SQL cannot do. */
export type Migration = { name: string } & ({ sql: string } | { change: (file: SqliteFile) => void });

/** All migrations, in the order in which they are applied, embedded in the binary. Shipped migrations never change. */
export const migrations: readonly Migration[] = [
  { name: "0001_workspace", sql: workspace },
  { name: "0002_webhooks", sql: webhooks },
  { name: "0003_directory", sql: directory },
  { name: "0004_early_tables", change: completeEarlyTables },
  { name: "0004_workspace_stamp", sql: workspaceStamp },
  { name: "0005_leaner_writes", sql: leanerWrites },
  { name: "0006_events_wait_while_disabled", sql: eventsWait },
  { name: "0007_queue_clock", sql: queueClock },
  { name: "0008_subscription_creators", sql: subscriptionCreators },
  { name: "0009_fan_outs", sql: fanOuts },
  { name: "0010_signed_addresses", change: hashSignedAddresses },
  { name: "0011_event_traceparent", sql: eventTraceparent },
  { name: "0012_delivery_hold", sql: deliveryHold },
  { name: "0013_backup_schedule", sql: backupSchedule },
  { name: "0014_key_rotation", sql: keyRotation },
  { name: "0015_moves", sql: moves },
  { name: "0016_event_feeds", sql: eventFeeds },
  { name: "0017_alerts", sql: alerts },
  { name: "0018_own_headers", sql: ownHeaders },
  { name: "0019_certificates", sql: certificates },
  { name: "0020_refused_posts", sql: refusedPosts },
  { name: "0021_idempotency_keys", sql: idempotencyKeys },
  { name: "0022_incoming_overlap", sql: incomingOverlap },
  { name: "0023_refused_posts_superseded", sql: refusedSuperseded },
  { name: "0024_ended_secrets", sql: endedSecrets },
];
