-- What a company directory knows of the people and of the channels that it manages (SCIM 2.0).
-- Names are compared without regard to the case of the letters A to Z (NOCASE), external ids to the letter.

ALTER TABLE users ADD COLUMN user_name text COLLATE NOCASE;
ALTER TABLE users ADD COLUMN external_id text;
ALTER TABLE users ADD COLUMN display_name text;
ALTER TABLE users ADD COLUMN given_name text COLLATE NOCASE;
ALTER TABLE users ADD COLUMN family_name text COLLATE NOCASE;
ALTER TABLE users ADD COLUMN formatted_name text COLLATE NOCASE;
-- When the directory deleted the person, whom it does not see from then on.
ALTER TABLE users ADD COLUMN removed_at integer;
ALTER TABLE users ADD COLUMN updated_at integer NOT NULL DEFAULT 0;

-- People from before are found by their address, else by their name; of several with the same one, the first; the
-- others by their id.
UPDATE users SET
  user_name = CASE named.place WHEN 1 THEN named.wanted ELSE users.id END,
  display_name = name,
  given_name = CASE instr(name, ' ') WHEN 0 THEN name ELSE substr(name, 1, instr(name, ' ') - 1) END,
  family_name = CASE instr(name, ' ') WHEN 0 THEN name ELSE substr(name, instr(name, ' ') + 1) END
FROM (
  SELECT id, coalesce(email, name) AS wanted,
    row_number() OVER (PARTITION BY team_id, coalesce(email, name) COLLATE NOCASE ORDER BY id) AS place
  FROM users WHERE type = 'human'
) AS named
WHERE named.id = users.id;
UPDATE users SET updated_at = max(created_at, coalesce(deactivated_at, 0));

-- Answers are in the order of ids: an index that ends in them is preferred to the one that is in it from the start.
CREATE UNIQUE INDEX users_by_user_name ON users (team_id, user_name)
  WHERE type = 'human' AND removed_at IS NULL;
CREATE INDEX removed_users_by_user_name ON users (team_id, user_name)
  WHERE type = 'human' AND removed_at IS NOT NULL;
CREATE INDEX users_by_external_id ON users (team_id, external_id, id)
  WHERE type = 'human' AND removed_at IS NULL;
CREATE INDEX users_by_display_name ON users (team_id, name COLLATE NOCASE, id)
  WHERE type = 'human' AND removed_at IS NULL;
-- In the order of pages, and what is counted for the total.
CREATE INDEX users_of_directory ON users (team_id, id)
  WHERE type = 'human' AND removed_at IS NULL;

CREATE TABLE user_emails (
  user_id    text NOT NULL REFERENCES users (id),
  position   integer NOT NULL,
  value      text NOT NULL COLLATE NOCASE,
  type       text COLLATE NOCASE,
  is_primary integer NOT NULL,
  PRIMARY KEY (user_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_emails_by_value ON user_emails (value, user_id);
INSERT INTO user_emails (user_id, position, value, type, is_primary)
  SELECT id, 0, email, 'work', 1 FROM users WHERE type = 'human' AND email IS NOT NULL;

-- A channel that the directory made and whose people it decides on; archived, it is no group of the directory's.
ALTER TABLE channels ADD COLUMN is_managed integer NOT NULL DEFAULT 0;
ALTER TABLE channels ADD COLUMN external_id text;
ALTER TABLE channels ADD COLUMN updated_at integer NOT NULL DEFAULT 0;
UPDATE channels SET updated_at = created_at;
CREATE INDEX channels_of_directory ON channels (team_id, id)
  WHERE is_managed = 1 AND is_archived = 0;
CREATE INDEX managed_channels_by_name ON channels (team_id, name COLLATE NOCASE, id)
  WHERE is_managed = 1 AND is_archived = 0;
CREATE INDEX managed_channels_by_external_id ON channels (team_id, external_id, id)
  WHERE is_managed = 1 AND is_archived = 0;
