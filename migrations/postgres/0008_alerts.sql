-- Where Parley tells a team what needs somebody's attention, and as which bot; no row while it tells nothing.
CREATE TABLE alert_channels (
  team_id    text COLLATE "C" PRIMARY KEY REFERENCES teams (id),
  channel_id text COLLATE "C" NOT NULL REFERENCES channels (id),
  bot_id     text COLLATE "C" NOT NULL REFERENCES users (id),
  set_at     bigint NOT NULL
);

-- What was said last about each thing, so that it is said once, whichever server notices it.
CREATE TABLE alerts_said (
  team_id text COLLATE "C" NOT NULL REFERENCES teams (id),
  -- Such as webhook:ID, backup or disk.
  about   text COLLATE "C" NOT NULL,
  state   text COLLATE "C" NOT NULL,
  at      bigint NOT NULL,
  PRIMARY KEY (team_id, about)
);
