import { blob, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** The tables of what keeps a workspace running, not of what is said in it; see `schema.ts`. */

export const secretKey = sqliteTable("secret_key", {
  id: integer().primaryKey(),
  checkValue: blob("check_value", { mode: "buffer" }).notNull(),
});

export const keyRotation = sqliteTable("key_rotation", {
  id: integer().primaryKey(),
  oldCheckValue: blob("old_check_value", { mode: "buffer" }).notNull(),
  newCheckValue: blob("new_check_value", { mode: "buffer" }).notNull(),
  startedAt: integer("started_at").notNull(),
  startedBy: text("started_by").notNull(),
});

export const backupSchedule = sqliteTable("backup_schedule", {
  id: integer().primaryKey(),
  everyMs: integer("every_ms").notNull(),
  keep: integer().notNull(),
  folder: text().notNull(),
  passphraseFile: text("passphrase_file"),
  setAt: integer("set_at").notNull(),
});

export const backupResults = sqliteTable("backup_results", {
  kind: text({ enum: ["made", "failed", "by_hand"] }).primaryKey(),
  at: integer().notNull(),
  file: text().notNull(),
  bytes: integer(),
  reason: text(),
});

export const alertChannels = sqliteTable("alert_channels", {
  teamId: text("team_id").primaryKey(),
  channelId: text("channel_id").notNull(),
  botId: text("bot_id").notNull(),
  setAt: integer("set_at").notNull(),
});

export const alertsSaid = sqliteTable("alerts_said", {
  teamId: text("team_id").notNull(),
  about: text().notNull(),
  state: text().notNull(),
  at: integer().notNull(),
});

export const queueClock = sqliteTable("queue_clock", {
  id: integer().primaryKey(),
  aheadMs: integer("ahead_ms").notNull(),
});

export const deliveryCopy = sqliteTable("delivery_copy", {
  id: integer().primaryKey(),
  copyId: text("copy_id"),
  accepted: text(),
});

export const deliveryHold = sqliteTable("delivery_hold", {
  id: integer().primaryKey(),
  since: integer().notNull(),
  kind: text({ enum: ["older_copy", "foreign_copy"] }).notNull(),
  reason: text().notNull(),
  lastEvent: integer("last_event").notNull(),
  markers: text().notNull(),
});

export const deliveryHoldExceptions = sqliteTable("delivery_hold_exceptions", {
  subscriptionId: text("subscription_id").primaryKey(),
});

export const moveState = sqliteTable("move_state", {
  id: integer().primaryKey(),
  state: text({ enum: ["arriving", "left"] }).notNull(),
  place: text().notNull(),
  since: integer().notNull(),
});

export const moveProgress = sqliteTable("move_progress", {
  tableName: text("table_name").primaryKey(),
  lastKey: text("last_key").notNull(),
  copied: integer().notNull(),
});
