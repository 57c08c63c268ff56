-- How far the time by which jobs are due is ahead of the machine's clock, which somebody may have set back.
CREATE TABLE queue_clock (
  id       integer PRIMARY KEY CHECK (id = 1),
  ahead_ms integer NOT NULL
) STRICT;
INSERT INTO queue_clock (id, ahead_ms) VALUES (1, 0);
