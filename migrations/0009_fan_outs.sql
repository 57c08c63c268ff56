-- An event that many subscriptions want is stored with the change that caused it, and queued for them afterwards in small
-- writes of their own. A row is such an event that is not queued for all of them yet.
CREATE TABLE fan_outs (
  team_id            text NOT NULL,
  event_seq          integer NOT NULL,
  -- Where it happened.
  channel_id         text NOT NULL,
  -- The last filter that was gone through: first come those for every channel (''), then those for this one.
  after_channel      text NOT NULL DEFAULT '',
  after_subscription text NOT NULL DEFAULT '',
  -- The events of a team are queued one after the other, as they happened.
  PRIMARY KEY (team_id, event_seq)
) STRICT, WITHOUT ROWID;

-- The newest event when the filter was made: it finds the later ones, also where an earlier one is still being queued.
ALTER TABLE subscription_filters ADD COLUMN after_event integer NOT NULL DEFAULT 0;
