import { blob, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { webhookEvents } from "../event-types.ts";

/**
 * The tables as drizzle sees them. The SQL files in `migrations/` create them; a test compares the two. Times are
 * milliseconds since 1970 (UTC); ids are UUIDv7 in lower case.
 */

export * from "./upkeep-schema.ts";

export const workspaceStamp = sqliteTable("workspace_stamp", {
  id: integer().primaryKey(),
  stamp: text().notNull(),
});

export const teams = sqliteTable("teams", {
  id: text().primaryKey(),
  name: text().notNull(),
  slug: text().notNull(),
  createdAt: integer("created_at").notNull(),
});

export const users = sqliteTable("users", {
  id: text().primaryKey(),
  teamId: text("team_id").notNull(),
  type: text({ enum: ["human", "bot"] }).notNull(),
  name: text().notNull(),
  email: text(),
  role: text({ enum: ["owner", "admin", "member"] }),
  deactivatedAt: integer("deactivated_at"),
  createdAt: integer("created_at").notNull(),
  userName: text("user_name"),
  externalId: text("external_id"),
  displayName: text("display_name"),
  givenName: text("given_name"),
  familyName: text("family_name"),
  formattedName: text("formatted_name"),
  removedAt: integer("removed_at"),
  updatedAt: integer("updated_at").notNull(),
});

export const userEmails = sqliteTable("user_emails", {
  userId: text("user_id").notNull(),
  position: integer().notNull(),
  value: text().notNull(),
  type: text(),
  isPrimary: integer("is_primary", { mode: "boolean" }).notNull(),
});

export const channels = sqliteTable("channels", {
  id: text().primaryKey(),
  teamId: text("team_id").notNull(),
  name: text().notNull(),
  slug: text().notNull(),
  visibility: text({ enum: ["public", "private"] }).notNull(),
  topic: text(),
  isGeneral: integer("is_general", { mode: "boolean" }).notNull(),
  isArchived: integer("is_archived", { mode: "boolean" }).notNull(),
  isDirect: integer("is_direct", { mode: "boolean" }).notNull(),
  createdBy: text("created_by"),
  lastPosition: integer("last_position").notNull(),
  createdAt: integer("created_at").notNull(),
  isManaged: integer("is_managed", { mode: "boolean" }).notNull(),
  externalId: text("external_id"),
  updatedAt: integer("updated_at").notNull(),
});

export const channelMembers = sqliteTable("channel_members", {
  channelId: text("channel_id").notNull(),
  userId: text("user_id").notNull(),
  joinedAt: integer("joined_at").notNull(),
});

export const messages = sqliteTable("messages", {
  id: text().primaryKey(),
  channelId: text("channel_id").notNull(),
  position: integer().notNull(),
  authorId: text("author_id").notNull(),
  type: text({ enum: ["standard", "member_joined", "member_left", "poll"] }).notNull(),
  body: text().notNull(),
  username: text(),
  iconUrl: text("icon_url"),
  incomingWebhookId: text("incoming_webhook_id"),
  clientUuid: text("client_uuid"),
  replyToId: text("reply_to_id"),
  threadRootId: text("thread_root_id"),
  sentToChannel: integer("sent_to_channel", { mode: "boolean" }).notNull(),
  reactions: text().notNull(),
  createdAt: integer("created_at").notNull(),
  editedAt: integer("edited_at"),
  deletedAt: integer("deleted_at"),
});

export const idempotencyKeys = sqliteTable("idempotency_keys", {
  id: text().primaryKey(),
  post: text().notNull(),
  channelId: text("channel_id").notNull(),
  messageId: text("message_id").notNull(),
  createdAt: integer("created_at").notNull(),
});

export const reactions = sqliteTable("reactions", {
  messageId: text("message_id").notNull(),
  emoji: text().notNull(),
  userId: text("user_id").notNull(),
  createdAt: integer("created_at").notNull(),
});

export const customEmoji = sqliteTable("custom_emoji", {
  teamId: text("team_id").notNull(),
  name: text().notNull(),
  image: blob({ mode: "buffer" }),
  createdAt: integer("created_at").notNull(),
});

export const tokens = sqliteTable("tokens", {
  id: text().primaryKey(),
  teamId: text("team_id").notNull(),
  userId: text("user_id").notNull(),
  name: text().notNull(),
  prefix: text().notNull(),
  hash: text().notNull(),
  scopes: text().notNull(),
  expiresAt: integer("expires_at"),
  lastUsedAt: integer("last_used_at"),
  revokedAt: integer("revoked_at"),
  createdAt: integer("created_at").notNull(),
});

export const auditEntries = sqliteTable("audit_entries", {
  id: text().primaryKey(),
  teamId: text("team_id").notNull(),
  at: integer().notNull(),
  actor: text().notNull(),
  action: text().notNull(),
  target: text().notNull(),
  details: text().notNull(),
});

export const incomingWebhooks = sqliteTable("incoming_webhooks", {
  id: text().primaryKey(),
  teamId: text("team_id").notNull(),
  botId: text("bot_id").notNull(),
  channelId: text("channel_id").notNull(),
  name: text().notNull(),
  tokenHash: text("token_hash").notNull(),
  secret: blob({ mode: "buffer" }),
  revokedAt: integer("revoked_at"),
  createdAt: integer("created_at").notNull(),
  previousTokenHash: text("previous_token_hash"),
  previousTokenUntil: integer("previous_token_until"),
  previousSecret: blob("previous_secret", { mode: "buffer" }),
  previousSecretUntil: integer("previous_secret_until"),
});

export const refusedPosts = sqliteTable("refused_posts", {
  id: text().primaryKey(),
  webhookId: text("webhook_id").notNull(),
  suffix: text().notNull(),
  isProven: integer("is_proven", { mode: "boolean" }).notNull(),
  code: text({ enum: ["invalid", "forbidden", "unauthenticated", "too_large"] }).notNull(),
  at: integer().notNull(),
  post: blob({ mode: "buffer" }).notNull(),
  isSuperseded: integer("is_superseded", { mode: "boolean" }).notNull().default(false),
});

export const subscriptions = sqliteTable("subscriptions", {
  id: text().primaryKey(),
  teamId: text("team_id").notNull(),
  name: text().notNull(),
  /** Empty where events are only read. */
  url: text().notNull(),
  events: text().notNull(),
  channelIds: text("channel_ids"),
  status: text({ enum: ["active", "disabled"] }).notNull(),
  consecutiveFailures: integer("consecutive_failures").notNull(),
  lastSuccessAt: integer("last_success_at"),
  disabledAt: integer("disabled_at"),
  secret: blob({ mode: "buffer" }).notNull(),
  previousSecret: blob("previous_secret", { mode: "buffer" }),
  previousSecretUntil: integer("previous_secret_until"),
  deletedAt: integer("deleted_at"),
  createdAt: integer("created_at").notNull(),
  createdBy: text("created_by"),
  afterEvent: integer("after_event").notNull(),
  headers: blob({ mode: "buffer" }),
  headerNames: text("header_names").notNull(),
  certificateEndsAt: integer("certificate_ends_at"),
});

export const subscriptionFilters = sqliteTable("subscription_filters", {
  teamId: text("team_id").notNull(),
  eventType: text("event_type").notNull(),
  channelId: text("channel_id").notNull(),
  subscriptionId: text("subscription_id").notNull(),
  afterEvent: integer("after_event").notNull(),
  isOnlyRead: integer("is_only_read", { mode: "boolean" }).notNull(),
});

export const fanOuts = sqliteTable("fan_outs", {
  teamId: text("team_id").notNull(),
  eventSeq: integer("event_seq").notNull(),
  channelId: text("channel_id").notNull(),
  afterChannel: text("after_channel").notNull(),
  afterSubscription: text("after_subscription").notNull(),
});

export const events = sqliteTable("events", {
  seq: integer().primaryKey({ autoIncrement: true }),
  id: text().notNull(),
  type: text({ enum: webhookEvents }).notNull(),
  data: text().notNull(),
  createdAt: integer("created_at").notNull(),
  traceparent: text(),
});

export const deletedEvents = sqliteTable("deleted_events", {
  id: integer().primaryKey(),
  lastSeq: integer("last_seq").notNull(),
  lastId: text("last_id").notNull(),
});

export const jobs = sqliteTable("jobs", {
  subscriptionId: text("subscription_id").notNull(),
  dueAt: integer("due_at").notNull(),
  eventSeq: integer("event_seq").notNull(),
  attempts: integer().notNull(),
});

export const attempts = sqliteTable("attempts", {
  seq: integer().primaryKey({ autoIncrement: true }),
  id: text().notNull(),
  subscriptionId: text("subscription_id").notNull(),
  eventId: text("event_id").notNull(),
  eventType: text("event_type", { enum: webhookEvents }).notNull(),
  succeeded: integer({ mode: "boolean" }).notNull(),
  isReplay: integer("is_replay", { mode: "boolean" }).notNull(),
  responseStatus: integer("response_status"),
  responseStart: blob("response_start", { mode: "buffer" }),
  error: text(),
  durationMs: integer("duration_ms").notNull(),
  createdAt: integer("created_at").notNull(),
  eventSeq: integer("event_seq"),
});
