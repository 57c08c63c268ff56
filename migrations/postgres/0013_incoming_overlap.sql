-- The address and the secret of an incoming webhook that a rotation replaced, and until when they work as well, in
-- milliseconds since 1970; null where no overlap was asked for.
ALTER TABLE incoming_webhooks ADD COLUMN previous_token_hash text COLLATE "C";
ALTER TABLE incoming_webhooks ADD COLUMN previous_token_until bigint;
ALTER TABLE incoming_webhooks ADD COLUMN previous_secret bytea;
ALTER TABLE incoming_webhooks ADD COLUMN previous_secret_until bigint;
CREATE UNIQUE INDEX incoming_webhooks_by_previous_token ON incoming_webhooks (previous_token_hash)
  WHERE previous_token_hash IS NOT NULL;
