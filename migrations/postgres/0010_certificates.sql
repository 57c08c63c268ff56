-- When the certificate of the receiver ends, in milliseconds since 1970, as seen at the last handshake that was different;
-- null while none was seen. It changes with traffic, so the trigger does not know it.
ALTER TABLE subscriptions ADD COLUMN certificate_ends_at bigint;
