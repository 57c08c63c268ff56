-- The events of a subscription can be read, too, from any place in their order.

-- The newest event when the subscription was created: those that can be read come after it.
ALTER TABLE subscriptions ADD COLUMN after_event bigint NOT NULL DEFAULT 0;
UPDATE subscriptions SET after_event = coalesce(
  (SELECT min(after_event) FROM subscription_filters WHERE subscription_id = subscriptions.id), 0
);

-- As before, and the new column.
DROP TRIGGER subscriptions_stamp ON subscriptions;
CREATE TRIGGER subscriptions_stamp AFTER INSERT OR DELETE OR UPDATE OF
  id, team_id, name, url, events, channel_ids, status, disabled_at,
  secret, previous_secret, previous_secret_until, deleted_at, created_at, created_by, after_event
  ON subscriptions EXECUTE FUNCTION change_workspace_stamp();

-- Whether the subscription has no URL. It stands here too, so that storing an event reads one table.
ALTER TABLE subscription_filters ADD COLUMN is_only_read integer NOT NULL DEFAULT 0;

-- The newest event that retention has deleted. Who has read less far may have missed some.
CREATE TABLE deleted_events (
  id       bigint PRIMARY KEY CHECK (id = 1),
  last_seq bigint NOT NULL,
  last_id  text COLLATE "C" NOT NULL
);
INSERT INTO deleted_events (id, last_seq, last_id) VALUES (1, 0, '');
