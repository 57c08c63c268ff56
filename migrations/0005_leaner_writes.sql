-- What is written with every message and every delivery, in fewer and smaller pieces.

-- The delivery log finds an event by its number too. The id stays, for those who read the log.
ALTER TABLE attempts ADD COLUMN event_seq integer;
UPDATE attempts SET event_seq = (SELECT seq FROM events WHERE events.id = attempts.event_id);
DROP INDEX attempts_by_event;
CREATE INDEX attempts_by_event ON attempts (event_seq);

-- A job is known by who gets it, when it is due and which event it is, in the order of the queue: that is all there is to
-- it, so the table is its own only index.
CREATE TABLE new_jobs (
  subscription_id text NOT NULL,
  due_at          integer NOT NULL,
  event_seq       integer NOT NULL,
  -- How many attempts have been made and logged.
  attempts        integer NOT NULL DEFAULT 0,
  PRIMARY KEY (subscription_id, due_at, event_seq)
) STRICT, WITHOUT ROWID;
INSERT INTO new_jobs (subscription_id, due_at, event_seq, attempts)
  SELECT jobs.subscription_id, min(jobs.due_at), events.seq, max(jobs.attempts)
  FROM jobs JOIN events ON events.id = jobs.event_id GROUP BY jobs.subscription_id, events.seq;
DROP TABLE jobs;
ALTER TABLE new_jobs RENAME TO jobs;

-- Nobody looks an event up by its id any more, and of its envelope only the data is not in the other columns. No number is
-- ever given twice, also not one from before.
CREATE TABLE new_events (
  seq        integer PRIMARY KEY AUTOINCREMENT,
  id         text NOT NULL,
  type       text NOT NULL,
  data       text NOT NULL,
  created_at integer NOT NULL
) STRICT;
INSERT INTO new_events SELECT seq, id, type, envelope -> '$.data', created_at FROM events;
DELETE FROM sqlite_sequence WHERE name = 'new_events';
UPDATE sqlite_sequence SET name = 'new_events' WHERE name = 'events';
DROP TABLE events;
ALTER TABLE new_events RENAME TO events;

-- For a list of more than two SQLite builds a table with every row that it checks: the type that nearly all have comes first.
CREATE TABLE new_messages (
  id              text PRIMARY KEY,
  channel_id      text NOT NULL REFERENCES channels (id),
  -- 1, 2, 3 … without a gap in each channel: page n is a range of positions.
  position        integer NOT NULL,
  author_id       text NOT NULL REFERENCES users (id),
  type            text NOT NULL CHECK (type = 'standard' OR type IN ('member_joined', 'member_left', 'poll')),
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
INSERT INTO new_messages SELECT * FROM messages ORDER BY rowid;
DROP TABLE messages;
ALTER TABLE new_messages RENAME TO messages;
CREATE UNIQUE INDEX messages_by_client_uuid ON messages (channel_id, author_id, client_uuid)
  WHERE client_uuid IS NOT NULL;
