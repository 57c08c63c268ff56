-- The span that caused the event, as a W3C traceparent; null while traces are off. Attempts continue its trace.
ALTER TABLE events ADD COLUMN traceparent text;
