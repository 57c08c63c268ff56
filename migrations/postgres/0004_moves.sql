-- Where a workspace is while it is moved to another database, and afterwards. There is a row while nobody may use this
-- one: it has only part of a workspace that is arriving, or its workspace has left.
CREATE TABLE move_state (
  id    bigint PRIMARY KEY CHECK (id = 1),
  state text COLLATE "C" NOT NULL CHECK (state IN ('arriving', 'left')),
  -- Where it comes from or has gone to: a folder, or the URL of a database without its password.
  place text COLLATE "C" NOT NULL,
  since bigint NOT NULL
);

-- What the tables of a workspace that has left do instead of changing: as if on a standby, so that servers say that the
-- database takes no writes, and take nothing for failed.
CREATE FUNCTION refuse_change_of_workspace_that_left() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The workspace was moved elsewhere. Nothing was saved.' USING ERRCODE = 'read_only_sql_transaction';
END $$;

-- How far each table of a workspace that is arriving is copied.
CREATE TABLE move_progress (
  table_name text COLLATE "C" PRIMARY KEY,
  -- The primary key of the last row that was copied, as JSON.
  last_key   text COLLATE "C" NOT NULL,
  copied     bigint NOT NULL
);
