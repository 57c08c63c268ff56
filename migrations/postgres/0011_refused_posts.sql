-- The latest posts that an incoming webhook refused, to be looked at and posted after a repair.
CREATE TABLE refused_posts (
  id         text COLLATE "C" PRIMARY KEY,
  webhook_id text COLLATE "C" NOT NULL REFERENCES incoming_webhooks (id),
  -- The suffix of the address that it came to; empty for the specified one.
  suffix     text COLLATE "C" NOT NULL,
  -- Whether its sender knew what the webhook asks for: its address, and its secret if it has one.
  is_proven  integer NOT NULL,
  -- The code of the error.
  code       text COLLATE "C" NOT NULL,
  at         bigint NOT NULL,
  -- Why it was refused, its headers and its body, encrypted like secrets.
  post       bytea NOT NULL
);
CREATE INDEX refused_posts_by_webhook ON refused_posts (webhook_id, is_proven, id);
