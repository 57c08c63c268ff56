-- Posts that were made under an Idempotency-Key, for a day, so that their repetitions make no others.
CREATE TABLE idempotency_keys (
  -- A hash of whose key it is and of the key.
  id         text PRIMARY KEY,
  -- A hash of what was posted; empty where a repetition may differ.
  post       text NOT NULL,
  channel_id text NOT NULL REFERENCES channels (id),
  -- Not a reference: rows put down together are written at the end of their commit.
  message_id text NOT NULL,
  created_at integer NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
