-- The stamp of the workspace changes with everything that nearly every request asks about: who holds which token, which
-- channels there are, who is in them, who wants to be told. Whoever remembers an answer compares the stamp and asks again
-- when it is another one, whichever process made the change. It is random, so that no two states ever share one: not
-- those before and after a rollback either.
CREATE TABLE workspace_stamp (
  id    integer PRIMARY KEY CHECK (id = 1),
  stamp text NOT NULL
) STRICT;
INSERT INTO workspace_stamp (id, stamp) VALUES (1, hex(randomblob(8)));

-- Left out are the columns that change with the traffic itself: positions, the last use of a token, streaks of failures.
CREATE TRIGGER users_stamp_insert AFTER INSERT ON users BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER users_stamp_update AFTER UPDATE ON users BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER users_stamp_delete AFTER DELETE ON users BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER channels_stamp_insert AFTER INSERT ON channels BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER channels_stamp_update AFTER UPDATE OF
  id, team_id, name, slug, visibility, topic, is_general, is_archived,
  is_direct, created_by, created_at, is_managed, external_id, updated_at
ON channels BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER channels_stamp_delete AFTER DELETE ON channels BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER channel_members_stamp_insert AFTER INSERT ON channel_members BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER channel_members_stamp_update AFTER UPDATE ON channel_members BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER channel_members_stamp_delete AFTER DELETE ON channel_members BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER tokens_stamp_insert AFTER INSERT ON tokens BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER tokens_stamp_update AFTER UPDATE OF
  id, team_id, user_id, name, prefix, hash, scopes, expires_at,
  revoked_at, created_at
ON tokens BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER tokens_stamp_delete AFTER DELETE ON tokens BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER incoming_webhooks_stamp_insert AFTER INSERT ON incoming_webhooks BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER incoming_webhooks_stamp_update AFTER UPDATE ON incoming_webhooks BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER incoming_webhooks_stamp_delete AFTER DELETE ON incoming_webhooks BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER subscriptions_stamp_insert AFTER INSERT ON subscriptions BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER subscriptions_stamp_update AFTER UPDATE OF
  id, team_id, name, url, events, channel_ids, status, disabled_at,
  secret, previous_secret, previous_secret_until, deleted_at, created_at
ON subscriptions BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER subscriptions_stamp_delete AFTER DELETE ON subscriptions BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER subscription_filters_stamp_insert AFTER INSERT ON subscription_filters BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER subscription_filters_stamp_update AFTER UPDATE ON subscription_filters BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
CREATE TRIGGER subscription_filters_stamp_delete AFTER DELETE ON subscription_filters BEGIN
  UPDATE workspace_stamp SET stamp = hex(randomblob(8)) WHERE id = 1;
END;
