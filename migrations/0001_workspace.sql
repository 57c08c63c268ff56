-- The workspace: who is in it, where they talk, what they said.
-- Ids are UUIDv7 in lower case; times are milliseconds since 1970 in UTC.

CREATE TABLE teams (
  id         text PRIMARY KEY,
  name       text NOT NULL,
  slug       text NOT NULL UNIQUE,
  created_at integer NOT NULL
) STRICT;

CREATE TABLE users (
  id             text PRIMARY KEY,
  team_id        text NOT NULL REFERENCES teams (id),
  type           text NOT NULL CHECK (type IN ('human', 'bot')),
  name           text NOT NULL,
  email          text,
  role           text CHECK (role IN ('owner', 'admin', 'member')),
  -- A deactivated human or a deleted bot: its tokens are dead, its messages keep their author.
  deactivated_at integer,
  created_at     integer NOT NULL,
  CHECK ((type = 'human') = (role IS NOT NULL))
) STRICT;
CREATE INDEX users_by_team ON users (team_id, name);

CREATE TABLE channels (
  id            text PRIMARY KEY,
  team_id       text NOT NULL REFERENCES teams (id),
  name          text NOT NULL,
  slug          text NOT NULL,
  visibility    text NOT NULL CHECK (visibility IN ('public', 'private')),
  topic         text,
  is_general    integer NOT NULL DEFAULT 0,
  is_archived   integer NOT NULL DEFAULT 0,
  is_direct     integer NOT NULL DEFAULT 0,
  created_by    text REFERENCES users (id),
  -- The position of the newest message. Nothing is ever removed, so it is also how many there are.
  last_position integer NOT NULL DEFAULT 0,
  created_at    integer NOT NULL,
  UNIQUE (team_id, slug)
) STRICT;

CREATE TABLE channel_members (
  channel_id text NOT NULL REFERENCES channels (id),
  user_id    text NOT NULL REFERENCES users (id),
  joined_at  integer NOT NULL,
  PRIMARY KEY (channel_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX channel_members_by_user ON channel_members (user_id, channel_id);

CREATE TABLE messages (
  id              text PRIMARY KEY,
  channel_id      text NOT NULL REFERENCES channels (id),
  -- 1, 2, 3 … without a gap in each channel: page n is a range of positions.
  position        integer NOT NULL,
  author_id       text NOT NULL REFERENCES users (id),
  type            text NOT NULL CHECK (type IN ('standard', 'member_joined', 'member_left', 'poll')),
  body            text NOT NULL,
  username        text,
  icon_url        text,
  -- Which incoming webhook posted it, where one did.
  incoming_webhook_id text,
  client_uuid     text,
  reply_to_id     text REFERENCES messages (id),
  thread_root_id  text REFERENCES messages (id),
  sent_to_channel integer NOT NULL DEFAULT 0,
  -- ReactionSummary as it is shown, kept in step by every reaction: a page of messages is one query.
  reactions       text NOT NULL DEFAULT '[]',
  created_at      integer NOT NULL,
  edited_at       integer,
  deleted_at      integer,
  UNIQUE (channel_id, position)
) STRICT;
CREATE UNIQUE INDEX messages_by_client_uuid ON messages (channel_id, author_id, client_uuid)
  WHERE client_uuid IS NOT NULL;

CREATE TABLE reactions (
  message_id text NOT NULL REFERENCES messages (id),
  emoji      text NOT NULL,
  user_id    text NOT NULL REFERENCES users (id),
  created_at integer NOT NULL,
  PRIMARY KEY (message_id, emoji, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE custom_emoji (
  team_id    text NOT NULL REFERENCES teams (id),
  name       text NOT NULL,
  image      blob,
  created_at integer NOT NULL,
  PRIMARY KEY (team_id, name)
) STRICT;

CREATE TABLE tokens (
  id           text PRIMARY KEY,
  team_id      text NOT NULL REFERENCES teams (id),
  user_id      text NOT NULL REFERENCES users (id),
  name         text NOT NULL,
  -- The first characters, so that a person can tell tokens apart; the rest exists only as a hash.
  prefix       text NOT NULL,
  hash         text NOT NULL UNIQUE,
  scopes       text NOT NULL,
  expires_at   integer,
  last_used_at integer,
  revoked_at   integer,
  created_at   integer NOT NULL
) STRICT;
CREATE INDEX tokens_by_user ON tokens (user_id);
CREATE INDEX tokens_by_team ON tokens (team_id, created_at);

CREATE TABLE audit_entries (
  id      text PRIMARY KEY,
  team_id text NOT NULL REFERENCES teams (id),
  at      integer NOT NULL,
  actor   text NOT NULL,
  action  text NOT NULL,
  target  text NOT NULL,
  details text NOT NULL
) STRICT;
CREATE INDEX audit_entries_by_time ON audit_entries (team_id, at);
CREATE INDEX audit_entries_by_action ON audit_entries (team_id, action, at);
