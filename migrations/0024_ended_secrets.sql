-- Finds the replaced secrets of incoming webhooks whose overlap has ended, which are forgotten daily.
CREATE INDEX incoming_webhooks_by_secret_overlap ON incoming_webhooks (previous_secret_until)
  WHERE previous_secret_until IS NOT NULL;
