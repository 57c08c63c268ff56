-- Which copy of the workspace this file is. A marker next to the database names the same copy, so that an older database
-- or one that was copied elsewhere can be told.
CREATE TABLE delivery_copy (
  id       integer PRIMARY KEY CHECK (id = 1),
  -- Null until a server that writes markers has started.
  copy_id  text,
  -- The markers that the next server replaces without asking, as JSON; null usually.
  accepted text
) STRICT;
INSERT INTO delivery_copy (id) VALUES (1);

-- There is a row while nothing is delivered because this is an older or foreign copy.
CREATE TABLE delivery_hold (
  id         integer PRIMARY KEY CHECK (id = 1),
  since      integer NOT NULL,
  kind       text NOT NULL,
  reason     text NOT NULL,
  -- The newest event at that time: what waits up to it may have been delivered before.
  last_event integer NOT NULL,
  -- The markers that were found, as JSON.
  markers    text NOT NULL
) STRICT;

-- The subscriptions that are delivered to in spite of the hold.
CREATE TABLE delivery_hold_exceptions (
  subscription_id text PRIMARY KEY
) STRICT, WITHOUT ROWID;
