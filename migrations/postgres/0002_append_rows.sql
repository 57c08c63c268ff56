-- Writes the rows that the calls of one commit have put down, in one call and one transaction. Several nodes run it at
-- once; whoever changes the workspace itself keeps them away with the lock (src/database/postgres/lock-keys.ts).
--
-- It writes nothing and says 'stale' when the workspace is no longer of the version that the rows were made for, and
-- 'fan_outs' when they were made as if no event was still being queued. It says 'found' when it wrote these very rows
-- before: a caller whose connection broke cannot know. `commit_id` is an id among the rows by which it finds out.
CREATE FUNCTION append_rows(
  version text, presumes_no_fan_outs boolean, is_repeat boolean,
  m_id text[], m_channel_id text[], m_author_id text[], m_type text[], m_body text[], m_username text[],
  m_icon_url text[], m_incoming_webhook_id text[], m_client_uuid text[], m_reply_to_id text[],
  m_thread_root_id text[], m_sent_to_channel bigint[], m_created_at bigint[],
  e_id text[], e_type text[], e_data text[], e_created_at bigint[], e_traceparent text[],
  j_event bigint[], j_subscription_id text[],
  a_id text[], a_subscription_id text[], a_event_id text[], a_event_type text[], a_response_status bigint[],
  a_response_start text[], a_duration_ms bigint[], a_created_at bigint[], a_event_seq bigint[], a_due_at bigint[],
  t_id text[], t_at bigint[],
  OUT said text, OUT stamp_now text, OUT event_seqs bigint[], OUT attempt_seqs bigint[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  IF version IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock_shared(7261534, 1);
  END IF;
  SELECT stamp INTO stamp_now FROM workspace_stamp WHERE id = 1;
  said := 'written';
  event_seqs := '{}';
  attempt_seqs := '{}';
  IF is_repeat AND (
    EXISTS (SELECT FROM messages WHERE id = m_id[1]) OR EXISTS (SELECT FROM attempts WHERE id = a_id[1])
    OR EXISTS (SELECT FROM events WHERE id = e_id[1])
  ) THEN
    said := 'found';
    SELECT coalesce(array_agg(attempts.seq ORDER BY place), '{}') INTO attempt_seqs
      FROM unnest(a_id) WITH ORDINALITY AS given (id, place) JOIN attempts ON attempts.id = given.id;
    RETURN;
  END IF;
  IF stamp_now <> version THEN
    said := 'stale';
    RETURN;
  END IF;
  IF presumes_no_fan_outs AND EXISTS (SELECT FROM fan_outs) THEN
    said := 'fan_outs';
    RETURN;
  END IF;

  IF cardinality(m_id) > 0 THEN
    -- In one order on every node, so that none waits for another in a circle.
    PERFORM FROM channels WHERE id = ANY (m_channel_id) ORDER BY id FOR NO KEY UPDATE;
    WITH moved AS (
      UPDATE channels SET last_position = last_position + counted.messages
      FROM (SELECT channel_id, count(*) AS messages FROM unnest(m_channel_id) AS given (channel_id) GROUP BY channel_id)
        AS counted
      WHERE channels.id = counted.channel_id
      RETURNING channels.id, last_position - counted.messages AS position_before
    )
    INSERT INTO messages (
      id, channel_id, position, author_id, type, body, username, icon_url, incoming_webhook_id, client_uuid,
      reply_to_id, thread_root_id, sent_to_channel, reactions, created_at
    )
    SELECT given.id, given.channel_id,
      moved.position_before + row_number() OVER (PARTITION BY given.channel_id ORDER BY place),
      author_id, type, body, username, icon_url, incoming_webhook_id, client_uuid,
      reply_to_id, thread_root_id, sent_to_channel, '[]', created_at
    FROM unnest(
      m_id, m_channel_id, m_author_id, m_type, m_body, m_username, m_icon_url, m_incoming_webhook_id,
      m_client_uuid, m_reply_to_id, m_thread_root_id, m_sent_to_channel, m_created_at
    ) WITH ORDINALITY AS given (
      id, channel_id, author_id, type, body, username, icon_url, incoming_webhook_id,
      client_uuid, reply_to_id, thread_root_id, sent_to_channel, created_at, place
    ) JOIN moved ON moved.id = given.channel_id;
  END IF;

  IF cardinality(e_id) > 0 THEN
    SELECT array_agg(nextval('events_seq_seq') ORDER BY place) INTO event_seqs
      FROM generate_subscripts(e_id, 1) AS place;
    INSERT INTO events (seq, id, type, data, created_at, traceparent)
      SELECT * FROM unnest(event_seqs, e_id, e_type, e_data, e_created_at, e_traceparent);
    INSERT INTO jobs (subscription_id, due_at, event_seq, attempts)
      SELECT subscription_id, e_created_at[event], event_seqs[event], 0
      FROM unnest(j_event, j_subscription_id) AS given (event, subscription_id);
  END IF;

  IF cardinality(a_id) > 0 THEN
    SELECT array_agg(nextval('attempts_seq_seq') ORDER BY place) INTO attempt_seqs
      FROM generate_subscripts(a_id, 1) AS place;
    INSERT INTO attempts (
      seq, id, subscription_id, event_id, event_type, succeeded, is_replay, response_status, response_start,
      duration_ms, created_at, event_seq
    )
    SELECT seq, id, subscription_id, event_id, event_type, 1, 0, response_status, decode(response_start, 'base64'),
      duration_ms, created_at, event_seq
    FROM unnest(
      attempt_seqs, a_id, a_subscription_id, a_event_id, a_event_type, a_response_status, a_response_start,
      a_duration_ms, a_created_at, a_event_seq
    ) AS given (
      seq, id, subscription_id, event_id, event_type, response_status, response_start, duration_ms, created_at,
      event_seq
    );
    DELETE FROM jobs USING unnest(a_subscription_id, a_due_at, a_event_seq)
        AS given (subscription_id, due_at, event_seq)
      WHERE jobs.subscription_id = given.subscription_id AND jobs.due_at = given.due_at
        AND jobs.event_seq = given.event_seq;
    PERFORM FROM subscriptions WHERE id = ANY (a_subscription_id) ORDER BY id FOR NO KEY UPDATE;
    UPDATE subscriptions SET consecutive_failures = 0, last_success_at = ended.at
      FROM (
        SELECT subscription_id, max(at) AS at FROM unnest(a_subscription_id, a_created_at) AS given (subscription_id, at)
        GROUP BY subscription_id
      ) AS ended
      WHERE subscriptions.id = ended.subscription_id;
  END IF;

  IF cardinality(t_id) > 0 THEN
    PERFORM FROM tokens WHERE id = ANY (t_id) ORDER BY id FOR NO KEY UPDATE;
    UPDATE tokens SET last_used_at = given.at FROM unnest(t_id, t_at) AS given (id, at) WHERE tokens.id = given.id;
  END IF;
END
$$;
