-- Events find disabled subscriptions too, and wait for them: each keeps its filters until it is deleted.
INSERT OR IGNORE INTO subscription_filters (team_id, event_type, channel_id, subscription_id)
  SELECT subscriptions.team_id, types.value, coalesce(channels.value, ''), subscriptions.id
  FROM subscriptions
  JOIN json_each('["' || replace(subscriptions.events, ' ', '","') || '"]') AS types
  LEFT JOIN json_each(subscriptions.channel_ids) AS channels
  WHERE subscriptions.status = 'disabled' AND subscriptions.deleted_at IS NULL;
CREATE INDEX subscriptions_disabled ON subscriptions (disabled_at) WHERE disabled_at IS NOT NULL;
