-- Headers of one's own, which go with every request to the receiver.

-- A JSON list of names and values, encrypted like the secret; null without any.
ALTER TABLE subscriptions ADD COLUMN headers blob;
-- Their names, each followed by a space but the last, to be shown without the key.
ALTER TABLE subscriptions ADD COLUMN header_names text NOT NULL DEFAULT '';

-- As before, and the new columns.
DROP TRIGGER subscriptions_stamp_update;
CREATE TRIGGER subscriptions_stamp_update AFTER UPDATE OF
  id, team_id, name, url, events, channel_ids, status, disabled_at,
  secret, previous_secret, previous_secret_until, deleted_at, created_at, created_by, after_event,
  headers, header_names
ON subscriptions BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
