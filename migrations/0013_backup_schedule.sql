-- When the server makes backups by itself: one row at most.
CREATE TABLE backup_schedule (
  id              integer PRIMARY KEY CHECK (id = 1),
  every_ms        integer NOT NULL,
  keep            integer NOT NULL,
  folder          text NOT NULL,
  passphrase_file text,
  set_at          integer NOT NULL
) STRICT;

-- The last backup that the schedule made, the last of its that failed, and the last that somebody made by hand.
CREATE TABLE backup_results (
  kind   text PRIMARY KEY CHECK (kind IN ('made', 'failed', 'by_hand')),
  at     integer NOT NULL,
  file   text NOT NULL,
  bytes  integer,
  reason text
) STRICT;
