-- Whether the address or the secret that its sender knew has been replaced since, without an overlap. Such a post can
-- be looked at, but not be posted.
ALTER TABLE refused_posts ADD COLUMN is_superseded integer NOT NULL DEFAULT 0;
-- Until now a replaced secret was noted as if the sender had never known it.
UPDATE refused_posts SET is_superseded = 1, is_proven = 1
  WHERE is_proven = 0 AND code NOT IN ('unauthenticated', 'too_large');
