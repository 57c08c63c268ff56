-- Where a workspace is while it is moved to another database, and afterwards. There is a row while nobody may use this
-- one: it has only part of a workspace that is arriving, or its workspace has left.
CREATE TABLE move_state (
  id    integer PRIMARY KEY CHECK (id = 1),
  state text NOT NULL CHECK (state IN ('arriving', 'left')),
  -- Where it comes from or has gone to: a folder, or the URL of a database without its password.
  place text NOT NULL,
  since integer NOT NULL
) STRICT;

-- How far each table of a workspace that is arriving is copied.
CREATE TABLE move_progress (
  table_name text PRIMARY KEY,
  -- The primary key of the last row that was copied, as JSON.
  last_key   text NOT NULL,
  copied     integer NOT NULL
) STRICT;
