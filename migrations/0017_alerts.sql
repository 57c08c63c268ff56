-- Where Parley tells a team what needs somebody's attention, and as which bot; no row while it tells nothing.
CREATE TABLE alert_channels (
  team_id    text PRIMARY KEY REFERENCES teams (id),
  channel_id text NOT NULL REFERENCES channels (id),
  bot_id     text NOT NULL REFERENCES users (id),
  set_at     integer NOT NULL
) STRICT, WITHOUT ROWID;

-- What was said last about each thing, so that it is said once, whichever server notices it.
CREATE TABLE alerts_said (
  team_id text NOT NULL REFERENCES teams (id),
  -- Such as webhook:ID, backup or disk.
  about   text NOT NULL,
  state   text NOT NULL,
  at      integer NOT NULL,
  PRIMARY KEY (team_id, about)
) STRICT, WITHOUT ROWID;
