-- Webhooks both ways: secret addresses that post in, subscriptions that are told what happens, and the queue between.

-- Tells the key that secrets are sealed under from any other one without giving it away. One row at most.
CREATE TABLE secret_key (
  id          integer PRIMARY KEY CHECK (id = 1),
  check_value blob NOT NULL
) STRICT;

CREATE TABLE incoming_webhooks (
  id         text PRIMARY KEY,
  team_id    text NOT NULL REFERENCES teams (id),
  bot_id     text NOT NULL REFERENCES users (id),
  channel_id text NOT NULL REFERENCES channels (id),
  name       text NOT NULL,
  token_hash text NOT NULL UNIQUE,
  -- The signing secret, sealed; null where requests need no signature.
  secret     blob,
  revoked_at integer,
  created_at integer NOT NULL
) STRICT;
-- A bot holds one for each channel that it posts into.
CREATE UNIQUE INDEX incoming_webhooks_by_bot ON incoming_webhooks (bot_id, channel_id) WHERE revoked_at IS NULL;
CREATE INDEX incoming_webhooks_by_team ON incoming_webhooks (team_id, created_at);

CREATE TABLE subscriptions (
  id                    text PRIMARY KEY,
  team_id               text NOT NULL REFERENCES teams (id),
  name                  text NOT NULL,
  url                   text NOT NULL,
  events                text NOT NULL,
  -- A JSON list of ids; null for the whole workspace.
  channel_ids           text,
  status                text NOT NULL CHECK (status IN ('active', 'disabled')),
  consecutive_failures  integer NOT NULL DEFAULT 0,
  last_success_at       integer,
  disabled_at           integer,
  secret                blob NOT NULL,
  -- Signs too until then, while receivers change over.
  previous_secret       blob,
  previous_secret_until integer,
  deleted_at            integer,
  created_at            integer NOT NULL
) STRICT;
CREATE INDEX subscriptions_by_team ON subscriptions (team_id, created_at) WHERE deleted_at IS NULL;
CREATE INDEX subscriptions_deleted ON subscriptions (deleted_at) WHERE deleted_at IS NOT NULL;

-- What each active subscription wants, one row for each event type and channel; '' stands for every channel. An event
-- finds its subscriptions by two look-ups, however many others there are.
CREATE TABLE subscription_filters (
  team_id         text NOT NULL,
  event_type      text NOT NULL,
  channel_id      text NOT NULL,
  subscription_id text NOT NULL REFERENCES subscriptions (id),
  PRIMARY KEY (team_id, event_type, channel_id, subscription_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX subscription_filters_by_subscription ON subscription_filters (subscription_id);

-- What happened and somebody wanted to know: the envelope as it is sent, stored once for all who get it.
CREATE TABLE events (
  seq        integer PRIMARY KEY AUTOINCREMENT,
  id         text NOT NULL UNIQUE,
  type       text NOT NULL,
  envelope   text NOT NULL,
  created_at integer NOT NULL
) STRICT;

-- One event that waits to go to one subscription. A job that is done leaves the table.
CREATE TABLE jobs (
  seq             integer PRIMARY KEY AUTOINCREMENT,
  subscription_id text NOT NULL,
  event_id        text NOT NULL,
  -- How many attempts have been made and logged.
  attempts        integer NOT NULL DEFAULT 0,
  due_at          integer NOT NULL
) STRICT;
CREATE INDEX jobs_by_due ON jobs (subscription_id, due_at, seq);
CREATE INDEX jobs_by_event ON jobs (event_id);

-- The delivery log: one row for each attempt, never changed, deleted by age.
CREATE TABLE attempts (
  seq             integer PRIMARY KEY AUTOINCREMENT,
  id              text NOT NULL UNIQUE,
  subscription_id text NOT NULL,
  event_id        text NOT NULL,
  event_type      text NOT NULL,
  succeeded       integer NOT NULL,
  is_replay       integer NOT NULL,
  response_status integer,
  -- At most the first KiB, as bytes.
  response_start  blob,
  error           text,
  duration_ms     integer NOT NULL,
  created_at      integer NOT NULL
) STRICT;
CREATE INDEX attempts_by_subscription ON attempts (subscription_id, seq);
CREATE INDEX attempts_by_event ON attempts (event_id);
CREATE INDEX attempts_by_age ON attempts (created_at);
