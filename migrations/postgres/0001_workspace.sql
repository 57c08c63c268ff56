-- The workspace on PostgreSQL: the tables that SQLite has after all of its migrations, under the same names.
-- Ids are UUIDv7 in lower case; times are milliseconds since 1970 in UTC. Text is compared byte by byte, as SQLite does,
-- so every column of text has the collation "C", in which lower() changes the letters A to Z only. Whole numbers are
-- bigint; what is true or false is an integer, 0 or 1.

CREATE TABLE teams (
  id         text COLLATE "C" PRIMARY KEY,
  name       text COLLATE "C" NOT NULL,
  slug       text COLLATE "C" NOT NULL UNIQUE,
  created_at bigint NOT NULL
);

CREATE TABLE users (
  id             text COLLATE "C" PRIMARY KEY,
  team_id        text COLLATE "C" NOT NULL REFERENCES teams (id),
  type           text COLLATE "C" NOT NULL CHECK (type IN ('human', 'bot')),
  name           text COLLATE "C" NOT NULL,
  email          text COLLATE "C",
  role           text COLLATE "C" CHECK (role IN ('owner', 'admin', 'member')),
  -- A deactivated human or a deleted bot: its tokens are dead, its messages keep their author.
  deactivated_at bigint,
  created_at     bigint NOT NULL,
  -- What a company directory knows of the person. Their case counts only where a query says so.
  user_name      text COLLATE "C",
  external_id    text COLLATE "C",
  display_name   text COLLATE "C",
  given_name     text COLLATE "C",
  family_name    text COLLATE "C",
  formatted_name text COLLATE "C",
  -- When the directory deleted the person, whom it does not see from then on.
  removed_at     bigint,
  updated_at     bigint NOT NULL DEFAULT 0,
  CHECK ((type = 'human') = (role IS NOT NULL))
);
CREATE INDEX users_by_team ON users (team_id, name);
-- NULLS FIRST is SQLite's order, which the queries ask for.
CREATE UNIQUE INDEX users_by_user_name ON users (team_id, lower(user_name) NULLS FIRST)
  WHERE type = 'human' AND removed_at IS NULL;
CREATE INDEX removed_users_by_user_name ON users (team_id, lower(user_name))
  WHERE type = 'human' AND removed_at IS NOT NULL;
CREATE INDEX users_by_external_id ON users (team_id, external_id NULLS FIRST, id)
  WHERE type = 'human' AND removed_at IS NULL;
CREATE INDEX users_by_display_name ON users (team_id, lower(name) NULLS FIRST, id)
  WHERE type = 'human' AND removed_at IS NULL;
CREATE INDEX users_of_directory ON users (team_id, id)
  WHERE type = 'human' AND removed_at IS NULL;

CREATE TABLE user_emails (
  user_id    text COLLATE "C" NOT NULL REFERENCES users (id),
  position   bigint NOT NULL,
  value      text COLLATE "C" NOT NULL,
  type       text COLLATE "C",
  is_primary integer NOT NULL,
  PRIMARY KEY (user_id, position)
);
CREATE INDEX user_emails_by_value ON user_emails (lower(value), user_id);

-- Half of each page stays free in tables whose rows change with the traffic, so that a changed row stays in its page and
-- no index has to be touched.
CREATE TABLE channels (
  id            text COLLATE "C" PRIMARY KEY,
  team_id       text COLLATE "C" NOT NULL REFERENCES teams (id),
  name          text COLLATE "C" NOT NULL,
  slug          text COLLATE "C" NOT NULL,
  visibility    text COLLATE "C" NOT NULL CHECK (visibility IN ('public', 'private')),
  topic         text COLLATE "C",
  is_general    integer NOT NULL DEFAULT 0,
  is_archived   integer NOT NULL DEFAULT 0,
  is_direct     integer NOT NULL DEFAULT 0,
  created_by    text COLLATE "C" REFERENCES users (id),
  -- The position of the newest message. Nothing is ever removed, so it is also how many there are.
  last_position bigint NOT NULL DEFAULT 0,
  created_at    bigint NOT NULL,
  -- A channel that the directory made and whose people it decides on; archived, it is no group of the directory's.
  is_managed    integer NOT NULL DEFAULT 0,
  external_id   text COLLATE "C",
  updated_at    bigint NOT NULL DEFAULT 0,
  UNIQUE (team_id, slug)
) WITH (fillfactor = 50);
CREATE INDEX channels_of_directory ON channels (team_id, id)
  WHERE is_managed = 1 AND is_archived = 0;
CREATE INDEX managed_channels_by_name ON channels (team_id, lower(name) NULLS FIRST, id)
  WHERE is_managed = 1 AND is_archived = 0;
CREATE INDEX managed_channels_by_external_id ON channels (team_id, external_id NULLS FIRST, id)
  WHERE is_managed = 1 AND is_archived = 0;

CREATE TABLE channel_members (
  channel_id text COLLATE "C" NOT NULL REFERENCES channels (id),
  user_id    text COLLATE "C" NOT NULL REFERENCES users (id),
  joined_at  bigint NOT NULL,
  PRIMARY KEY (channel_id, user_id)
);
CREATE INDEX channel_members_by_user ON channel_members (user_id, channel_id);

-- No foreign key to the channel and to the author, which are never removed: checking the two took 6 of the 13 µs of an
-- inserted row, and locks those two rows, which everybody who posts shares.
CREATE TABLE messages (
  id              text COLLATE "C" PRIMARY KEY,
  channel_id      text COLLATE "C" NOT NULL,
  -- 1, 2, 3 … without a gap in each channel: page n is a range of positions.
  position        bigint NOT NULL,
  author_id       text COLLATE "C" NOT NULL,
  type            text COLLATE "C" NOT NULL CHECK (type IN ('standard', 'member_joined', 'member_left', 'poll')),
  body            text COLLATE "C" NOT NULL,
  username        text COLLATE "C",
  icon_url        text COLLATE "C",
  -- Which incoming webhook posted it, where one did.
  incoming_webhook_id text COLLATE "C",
  client_uuid     text COLLATE "C",
  reply_to_id     text COLLATE "C" REFERENCES messages (id),
  thread_root_id  text COLLATE "C" REFERENCES messages (id),
  sent_to_channel integer NOT NULL DEFAULT 0,
  -- ReactionSummary as it is shown, kept in step by every reaction: a page of messages is one query.
  reactions       text COLLATE "C" NOT NULL DEFAULT '[]',
  created_at      bigint NOT NULL,
  edited_at       bigint,
  deleted_at      bigint,
  UNIQUE (channel_id, position)
);
CREATE UNIQUE INDEX messages_by_client_uuid ON messages (channel_id, author_id, client_uuid)
  WHERE client_uuid IS NOT NULL;

CREATE TABLE reactions (
  message_id text COLLATE "C" NOT NULL REFERENCES messages (id),
  emoji      text COLLATE "C" NOT NULL,
  user_id    text COLLATE "C" NOT NULL REFERENCES users (id),
  created_at bigint NOT NULL,
  PRIMARY KEY (message_id, emoji, user_id)
);

CREATE TABLE custom_emoji (
  team_id    text COLLATE "C" NOT NULL REFERENCES teams (id),
  name       text COLLATE "C" NOT NULL,
  image      bytea,
  created_at bigint NOT NULL,
  PRIMARY KEY (team_id, name)
);

CREATE TABLE tokens (
  id           text COLLATE "C" PRIMARY KEY,
  team_id      text COLLATE "C" NOT NULL REFERENCES teams (id),
  user_id      text COLLATE "C" NOT NULL REFERENCES users (id),
  name         text COLLATE "C" NOT NULL,
  -- The first characters, so that a person can tell tokens apart; the rest exists only as a hash.
  prefix       text COLLATE "C" NOT NULL,
  hash         text COLLATE "C" NOT NULL UNIQUE,
  scopes       text COLLATE "C" NOT NULL,
  expires_at   bigint,
  last_used_at bigint,
  revoked_at   bigint,
  created_at   bigint NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX tokens_by_user ON tokens (user_id);
CREATE INDEX tokens_by_team ON tokens (team_id, created_at);

CREATE TABLE audit_entries (
  id      text COLLATE "C" PRIMARY KEY,
  team_id text COLLATE "C" NOT NULL REFERENCES teams (id),
  at      bigint NOT NULL,
  actor   text COLLATE "C" NOT NULL,
  action  text COLLATE "C" NOT NULL,
  target  text COLLATE "C" NOT NULL,
  details text COLLATE "C" NOT NULL
);
CREATE INDEX audit_entries_by_time ON audit_entries (team_id, at);
CREATE INDEX audit_entries_by_action ON audit_entries (team_id, action, at);

-- Tells the key that secrets are sealed under from any other one without giving it away. One row at most.
CREATE TABLE secret_key (
  id          bigint PRIMARY KEY CHECK (id = 1),
  check_value bytea NOT NULL
);

-- The rotation of the master key that has begun and is not finished; no row while there is none. Secrets are encrypted
-- with either key until it is. The values identify the keys, as in secret_key, and tell nothing about them.
CREATE TABLE key_rotation (
  id              bigint PRIMARY KEY CHECK (id = 1),
  old_check_value bytea NOT NULL,
  new_check_value bytea NOT NULL,
  started_at      bigint NOT NULL,
  started_by      text COLLATE "C" NOT NULL
);

CREATE TABLE incoming_webhooks (
  id         text COLLATE "C" PRIMARY KEY,
  team_id    text COLLATE "C" NOT NULL REFERENCES teams (id),
  bot_id     text COLLATE "C" NOT NULL REFERENCES users (id),
  channel_id text COLLATE "C" NOT NULL REFERENCES channels (id),
  name       text COLLATE "C" NOT NULL,
  -- With a signing secret a hash of the hash, so that the webhook asks for signatures even if its secret is removed.
  token_hash text COLLATE "C" NOT NULL UNIQUE,
  -- The signing secret, sealed; null where requests need no signature.
  secret     bytea,
  revoked_at bigint,
  created_at bigint NOT NULL
);
-- A bot holds one for each channel that it posts into.
CREATE UNIQUE INDEX incoming_webhooks_by_bot ON incoming_webhooks (bot_id, channel_id) WHERE revoked_at IS NULL;
CREATE INDEX incoming_webhooks_by_team ON incoming_webhooks (team_id, created_at);

CREATE TABLE subscriptions (
  id                    text COLLATE "C" PRIMARY KEY,
  team_id               text COLLATE "C" NOT NULL REFERENCES teams (id),
  name                  text COLLATE "C" NOT NULL,
  url                   text COLLATE "C" NOT NULL,
  events                text COLLATE "C" NOT NULL,
  -- A JSON list of ids; null for the whole workspace.
  channel_ids           text COLLATE "C",
  status                text COLLATE "C" NOT NULL CHECK (status IN ('active', 'disabled')),
  consecutive_failures  bigint NOT NULL DEFAULT 0,
  last_success_at       bigint,
  disabled_at           bigint,
  secret                bytea NOT NULL,
  -- Signs too until then, while receivers change over.
  previous_secret       bytea,
  previous_secret_until bigint,
  deleted_at            bigint,
  created_at            bigint NOT NULL,
  -- Who made it, as the audit log names them: `human:<id>`, `bot:<id>` or `cli:<login name>`; null where that cannot be
  -- told any more.
  created_by            text COLLATE "C"
) WITH (fillfactor = 50);
CREATE INDEX subscriptions_by_team ON subscriptions (team_id, created_at) WHERE deleted_at IS NULL;
CREATE INDEX subscriptions_deleted ON subscriptions (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX subscriptions_disabled ON subscriptions (disabled_at) WHERE disabled_at IS NOT NULL;
CREATE INDEX subscriptions_by_creator ON subscriptions (created_by) WHERE deleted_at IS NULL;

-- What each subscription wants, one row for each event type and channel; '' stands for every channel. An event finds its
-- subscriptions by two look-ups, however many others there are; disabled ones too, whose events wait.
CREATE TABLE subscription_filters (
  team_id         text COLLATE "C" NOT NULL,
  event_type      text COLLATE "C" NOT NULL,
  channel_id      text COLLATE "C" NOT NULL,
  subscription_id text COLLATE "C" NOT NULL REFERENCES subscriptions (id),
  -- The newest event when the filter was made: it finds the later ones, also where an earlier one is still being queued.
  after_event     bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (team_id, event_type, channel_id, subscription_id)
);
CREATE INDEX subscription_filters_by_subscription ON subscription_filters (subscription_id);

-- What happened and somebody wanted to know, stored once for all who get it.
CREATE TABLE events (
  seq         bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  id          text COLLATE "C" NOT NULL,
  type        text COLLATE "C" NOT NULL,
  data        text COLLATE "C" NOT NULL,
  created_at  bigint NOT NULL,
  -- The span that caused the event, as a W3C traceparent; null while traces are off. Attempts continue its trace.
  traceparent text COLLATE "C"
);

-- An event that many subscriptions want is stored with the change that caused it, and queued for them afterwards in small
-- writes of their own. A row is such an event that is not queued for all of them yet.
CREATE TABLE fan_outs (
  team_id            text COLLATE "C" NOT NULL,
  event_seq          bigint NOT NULL,
  -- Where it happened.
  channel_id         text COLLATE "C" NOT NULL,
  -- The last filter that was gone through: first come those for every channel (''), then those for this one.
  after_channel      text COLLATE "C" NOT NULL DEFAULT '',
  after_subscription text COLLATE "C" NOT NULL DEFAULT '',
  -- The events of a team are queued one after the other, as they happened.
  PRIMARY KEY (team_id, event_seq)
);

-- One event that waits to go to one subscription. A job that is done leaves the table. Rows come and go all the time, so
-- what they leave behind is cleaned up by their number and not by their share.
CREATE TABLE jobs (
  subscription_id text COLLATE "C" NOT NULL,
  due_at          bigint NOT NULL,
  event_seq       bigint NOT NULL,
  -- How many attempts have been made and logged.
  attempts        bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (subscription_id, due_at, event_seq)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- The delivery log: one row for each attempt, never changed, deleted by age.
CREATE TABLE attempts (
  seq             bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  id              text COLLATE "C" NOT NULL UNIQUE,
  subscription_id text COLLATE "C" NOT NULL,
  event_id        text COLLATE "C" NOT NULL,
  event_type      text COLLATE "C" NOT NULL,
  succeeded       integer NOT NULL,
  is_replay       integer NOT NULL,
  response_status bigint,
  -- At most the first KiB, as bytes.
  response_start  bytea,
  error           text COLLATE "C",
  duration_ms     bigint NOT NULL,
  created_at      bigint NOT NULL,
  event_seq       bigint
);
CREATE INDEX attempts_by_subscription ON attempts (subscription_id, seq);
CREATE INDEX attempts_by_event ON attempts (event_seq);
CREATE INDEX attempts_by_age ON attempts (created_at);

-- How far the time by which jobs are due is ahead of the machine's clock, which somebody may have set back.
CREATE TABLE queue_clock (
  id       bigint PRIMARY KEY CHECK (id = 1),
  ahead_ms bigint NOT NULL
);
INSERT INTO queue_clock (id, ahead_ms) VALUES (1, 0);

-- Which copy of the workspace this database is. A marker names the same copy, so that an older database or one that was
-- copied elsewhere can be told.
CREATE TABLE delivery_copy (
  id       bigint PRIMARY KEY CHECK (id = 1),
  -- Null until a server that writes markers has started.
  copy_id  text COLLATE "C",
  -- The markers that the next server replaces without asking, as JSON; null usually.
  accepted text COLLATE "C"
);
INSERT INTO delivery_copy (id) VALUES (1);

-- There is a row while nothing is delivered because this is an older or foreign copy.
CREATE TABLE delivery_hold (
  id         bigint PRIMARY KEY CHECK (id = 1),
  since      bigint NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  reason     text COLLATE "C" NOT NULL,
  -- The newest event at that time: what waits up to it may have been delivered before.
  last_event bigint NOT NULL,
  -- The markers that were found, as JSON.
  markers    text COLLATE "C" NOT NULL
);

-- The subscriptions that are delivered to in spite of the hold.
CREATE TABLE delivery_hold_exceptions (
  subscription_id text COLLATE "C" PRIMARY KEY
);

-- When the server makes backups by itself: one row at most.
CREATE TABLE backup_schedule (
  id              bigint PRIMARY KEY CHECK (id = 1),
  every_ms        bigint NOT NULL,
  keep            bigint NOT NULL,
  folder          text COLLATE "C" NOT NULL,
  passphrase_file text COLLATE "C",
  set_at          bigint NOT NULL
);

-- The last backup that the schedule made, the last of its that failed, and the last that somebody made by hand.
CREATE TABLE backup_results (
  kind   text COLLATE "C" PRIMARY KEY CHECK (kind IN ('made', 'failed', 'by_hand')),
  at     bigint NOT NULL,
  file   text COLLATE "C" NOT NULL,
  bytes  bigint,
  reason text COLLATE "C"
);

-- The stamp of the workspace changes with everything that nearly every request asks about: who holds which token, which
-- channels there are, who is in them, who wants to be told. Whoever remembers an answer compares the stamp and asks again
-- when it is another one, whichever process made the change. It is random, so that no two states ever share one: not
-- those before and after a rollback either.
CREATE TABLE workspace_stamp (
  id    bigint PRIMARY KEY CHECK (id = 1),
  stamp text COLLATE "C" NOT NULL
) WITH (fillfactor = 10);
INSERT INTO workspace_stamp (id, stamp) VALUES (1, gen_random_uuid());

CREATE FUNCTION change_workspace_stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE workspace_stamp SET stamp = gen_random_uuid() WHERE id = 1;
  RETURN NULL;
END $$;

-- Left out are the columns that change with the traffic itself: positions, the last use of a token, streaks of failures.
CREATE TRIGGER users_stamp AFTER INSERT OR UPDATE OR DELETE ON users
  EXECUTE FUNCTION change_workspace_stamp();
CREATE TRIGGER channels_stamp AFTER INSERT OR DELETE OR UPDATE OF
  id, team_id, name, slug, visibility, topic, is_general, is_archived,
  is_direct, created_by, created_at, is_managed, external_id, updated_at
  ON channels EXECUTE FUNCTION change_workspace_stamp();
CREATE TRIGGER channel_members_stamp AFTER INSERT OR UPDATE OR DELETE ON channel_members
  EXECUTE FUNCTION change_workspace_stamp();
CREATE TRIGGER tokens_stamp AFTER INSERT OR DELETE OR UPDATE OF
  id, team_id, user_id, name, prefix, hash, scopes, expires_at,
  revoked_at, created_at
  ON tokens EXECUTE FUNCTION change_workspace_stamp();
CREATE TRIGGER incoming_webhooks_stamp AFTER INSERT OR UPDATE OR DELETE ON incoming_webhooks
  EXECUTE FUNCTION change_workspace_stamp();
CREATE TRIGGER subscriptions_stamp AFTER INSERT OR DELETE OR UPDATE OF
  id, team_id, name, url, events, channel_ids, status, disabled_at,
  secret, previous_secret, previous_secret_until, deleted_at, created_at, created_by
  ON subscriptions EXECUTE FUNCTION change_workspace_stamp();
CREATE TRIGGER subscription_filters_stamp AFTER INSERT OR UPDATE OR DELETE ON subscription_filters
  EXECUTE FUNCTION change_workspace_stamp();
