-- Who made a subscription, as the audit log names them: `human:<id>`, `bot:<id>` or `cli:<login name>`; null where that
-- cannot be told any more.
ALTER TABLE subscriptions ADD COLUMN created_by text;
UPDATE subscriptions SET created_by = made.actor
FROM (SELECT substr(target, length('webhook:') + 1) AS id, actor FROM audit_entries WHERE action = 'webhook.created') AS made
WHERE subscriptions.id = made.id;
CREATE INDEX subscriptions_by_creator ON subscriptions (created_by) WHERE deleted_at IS NULL;

-- As before, and the new column.
DROP TRIGGER subscriptions_stamp_update;
CREATE TRIGGER subscriptions_stamp_update AFTER UPDATE OF
  id, team_id, name, url, events, channel_ids, status, disabled_at,
  secret, previous_secret, previous_secret_until, deleted_at, created_at, created_by
ON subscriptions BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
