-- The rotation of the master key that has begun and is not finished; no row while there is none. Secrets are encrypted
-- with either key until it is. The values identify the keys, as in secret_key, and tell nothing about them.
CREATE TABLE key_rotation (
  id              integer PRIMARY KEY CHECK (id = 1),
  old_check_value blob NOT NULL,
  new_check_value blob NOT NULL,
  started_at      integer NOT NULL,
  started_by      text NOT NULL
) STRICT;
