-- A failed attempt is written as a successful one is, without statements of its own, which would keep all other changes
-- waiting. The function of 0002_append_rows.sql learns it.
DROP FUNCTION append_rows;

-- Writes the rows that the calls of one commit have put down, in one call and one transaction. Several nodes run it at
-- once; whoever changes the workspace itself keeps them away with the lock (src/database/postgres/lock-keys.ts).
--
-- It writes nothing and says 'stale' when the workspace is no longer of the version that the rows were made for,
-- 'fan_outs' when they were made as if no event was still being queued, 'disabling' when failed attempts would disable
-- subscriptions, with the ids of these, and 'found' when the session's commit of this number has written them before.
-- Without a session it is part of another transaction, which has the lock and sees to what is to be disabled.
--
-- An attempt (a_…) that has failed has the number of those before it, and when the next one is due, if there is one. The
-- streaks (s_…) are of the subscriptions that had successes, or failures that count: the time of the last success, the
-- failures since then, all of them, and how many in a row disable. They are given back as they were before.
CREATE FUNCTION append_rows(
  session text, number bigint, is_repeat boolean, version text, presumes_no_fan_outs boolean,
  m_id text[], m_channel_id text[], m_author_id text[], m_type text[], m_body text[], m_username text[],
  m_icon_url text[], m_incoming_webhook_id text[], m_client_uuid text[], m_reply_to_id text[],
  m_thread_root_id text[], m_sent_to_channel bigint[], m_created_at bigint[],
  e_id text[], e_type text[], e_data text[], e_created_at bigint[], e_traceparent text[],
  j_event bigint[], j_subscription_id text[],
  a_id text[], a_subscription_id text[], a_event_id text[], a_event_type text[], a_response_status bigint[],
  a_response_start text[], a_error text[], a_duration_ms bigint[], a_created_at bigint[], a_event_seq bigint[],
  a_due_at bigint[], a_attempts_before bigint[], a_next_due_at bigint[],
  s_id text[], s_last_success_at bigint[], s_failures bigint[], s_all_failures bigint[], s_disable_after bigint[],
  t_id text[], t_at bigint[], queue_ahead_ms bigint, queue_tolerance_ms bigint,
  OUT said text, OUT stamp_now text, OUT event_seqs bigint[], OUT attempt_seqs bigint[], OUT streaks bigint[],
  OUT disabling text[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  has_failures CONSTANT boolean := cardinality(array_remove(a_attempts_before, NULL)) > 0;
BEGIN
  said := 'written';
  event_seqs := '{}';
  attempt_seqs := '{}';
  streaks := '{}';
  disabling := '{}';
  IF session IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock_shared(7261534, 1);
    SELECT stamp INTO stamp_now FROM workspace_stamp WHERE id = 1;
  END IF;
  -- In one order on every node, so that none waits for another in a circle; and before this commit is looked for, since an
  -- earlier send of it that is still being carried out has changed the streaks.
  IF cardinality(s_id) > 0 THEN
    PERFORM FROM subscriptions WHERE id = ANY (s_id) ORDER BY id FOR NO KEY UPDATE;
  END IF;
  IF has_failures THEN
    SELECT coalesce(array_agg(coalesce(consecutive_failures, 0) ORDER BY place), '{}'),
        coalesce(array_agg(given.id) FILTER (WHERE consecutive_failures + all_failures >= disable_after), '{}')
      INTO streaks, disabling
      FROM unnest(s_id, s_all_failures, s_disable_after) WITH ORDINALITY AS given (id, all_failures, disable_after, place)
        LEFT JOIN subscriptions ON subscriptions.id = given.id;
  END IF;
  IF session IS NOT NULL THEN
    IF is_repeat AND EXISTS (SELECT FROM latest_commits AS known WHERE known.session = $1 AND known.number >= $2) THEN
      said := 'found';
    ELSIF stamp_now <> version THEN
      said := 'stale';
      RETURN;
    ELSIF presumes_no_fan_outs AND EXISTS (SELECT FROM fan_outs) THEN
      said := 'fan_outs';
      RETURN;
    ELSIF cardinality(disabling) > 0 THEN
      said := 'disabling';
      RETURN;
    ELSE
      -- Waits for an earlier send of the same commit that is still being carried out.
      INSERT INTO latest_commits AS known VALUES ($1, $2, now())
        ON CONFLICT (session) DO UPDATE SET number = excluded.number, at = excluded.at
          WHERE known.number < excluded.number;
      IF NOT FOUND THEN
        said := 'found';
      END IF;
      IF number = 1 THEN
        DELETE FROM latest_commits WHERE at < now() - interval '1 day';
      END IF;
    END IF;
    IF said = 'found' THEN
      -- Something has to be written, or this commit would not wait for a standby that has not got the rows yet.
      PERFORM pg_logical_emit_message(true, 'parley', '');
      SELECT coalesce(array_agg(coalesce(attempts.seq, 0) ORDER BY place), '{}') INTO attempt_seqs
        FROM unnest(a_id) WITH ORDINALITY AS given (id, place) LEFT JOIN attempts ON attempts.id = given.id;
      IF has_failures THEN
        SELECT coalesce(array_agg(coalesce(consecutive_failures, 0)
            - CASE WHEN success_at IS NULL THEN all_failures ELSE 0 END ORDER BY place), '{}')
          INTO streaks
          FROM unnest(s_id, s_last_success_at, s_all_failures) WITH ORDINALITY AS given (id, success_at, all_failures, place)
            LEFT JOIN subscriptions ON subscriptions.id = given.id;
      END IF;
      RETURN;
    END IF;
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
    WITH given AS (
      SELECT * FROM unnest(
        a_id, a_subscription_id, a_event_id, a_event_type, a_response_status, a_response_start, a_error,
        a_duration_ms, a_created_at, a_event_seq, a_due_at, a_attempts_before, a_next_due_at
      ) WITH ORDINALITY AS given (
        id, subscription_id, event_id, event_type, response_status, response_start, error, duration_ms, created_at,
        event_seq, due_at, attempts_before, next_due_at, place
      )
    ), ended AS (
      DELETE FROM jobs USING given
        WHERE jobs.subscription_id = given.subscription_id AND jobs.due_at = given.due_at
          AND jobs.event_seq = given.event_seq
          AND (attempts_before IS NULL OR attempts_before = jobs.attempts AND next_due_at IS NULL)
      RETURNING given.id
    ), logged AS (
      INSERT INTO attempts (
        id, subscription_id, event_id, event_type, succeeded, is_replay, response_status, response_start,
        error, duration_ms, created_at, event_seq
      )
      SELECT id, subscription_id, event_id, event_type, CASE WHEN attempts_before IS NULL THEN 1 ELSE 0 END, 0,
        response_status, decode(response_start, 'base64'), error, duration_ms, created_at, event_seq
      FROM given
      -- A node that lost a subscription to another may have sent what that one has sent and settled, too.
      WHERE attempts_before IS NOT NULL OR id IN (SELECT id FROM ended) OR NOT EXISTS (
        SELECT FROM jobs WHERE jobs.subscription_id = given.subscription_id AND jobs.event_seq = given.event_seq
      ) AND NOT EXISTS (
        SELECT FROM attempts AS known
        WHERE known.event_seq = given.event_seq AND known.subscription_id = given.subscription_id
          AND known.succeeded = 1
      )
      ORDER BY place
      RETURNING id, seq
    )
    SELECT array_agg(coalesce(logged.seq, known.seq, 0) ORDER BY place) INTO attempt_seqs
      FROM given LEFT JOIN logged ON logged.id = given.id LEFT JOIN attempts AS known ON known.id = given.id;
    IF has_failures THEN
      UPDATE jobs SET attempts = jobs.attempts + 1, due_at = next_due_at
        FROM unnest(a_subscription_id, a_due_at, a_event_seq, a_attempts_before, a_next_due_at)
          AS given (subscription_id, due_at, event_seq, attempts_before, next_due_at)
        WHERE jobs.subscription_id = given.subscription_id AND jobs.due_at = given.due_at
          AND jobs.event_seq = given.event_seq AND jobs.attempts = attempts_before AND next_due_at IS NOT NULL;
    END IF;
    UPDATE subscriptions SET
        consecutive_failures = CASE WHEN success_at IS NULL THEN consecutive_failures ELSE 0 END + failures,
        last_success_at = coalesce(success_at, last_success_at)
      FROM unnest(s_id, s_last_success_at, s_failures) AS given (id, success_at, failures)
      WHERE subscriptions.id = given.id;
  END IF;

  IF cardinality(t_id) > 0 THEN
    PERFORM FROM tokens WHERE id = ANY (t_id) ORDER BY id FOR NO KEY UPDATE;
    UPDATE tokens SET last_used_at = given.at FROM unnest(t_id, t_at) AS given (id, at) WHERE tokens.id = given.id;
  END IF;

  IF queue_ahead_ms IS NOT NULL THEN
    UPDATE queue_clock SET ahead_ms = queue_ahead_ms WHERE abs(ahead_ms - queue_ahead_ms) > queue_tolerance_ms;
  END IF;
END
$$;
