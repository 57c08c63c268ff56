import type { Connections } from "../../src/database/postgres/connections.ts";
import type { Ran } from "./replaying-connection.ts";

/** One step of a plan: what it does, to which table, and the condition by which an index finds its rows. */
export type Step = { kind: string; table: string | undefined; condition: string | undefined };

type Node = {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Cond"?: string;
  Plans?: Node[];
};

/** Fills the tables with so many rows that the cheapest way is the one of a large workspace. */
const manyRows = `
  SET session_replication_role = replica;
  INSERT INTO teams SELECT 'x' || n, 'x' || n, 'x' || n, n FROM generate_series(1, 500) AS n;
  INSERT INTO users (id, team_id, type, name, role, created_at, user_name, external_id)
    SELECT 'x' || n, 'team-1', 'human', 'n' || n, 'member', n, 'X' || n, 'x' || n FROM generate_series(1, 5000) AS n;
  INSERT INTO user_emails SELECT 'x' || n, 0, 'x' || n, 'work', 1 FROM generate_series(1, 5000) AS n;
  INSERT INTO channels (id, team_id, name, slug, visibility, created_at, is_managed)
    SELECT 'x' || n, 'x' || n % 500, 'n' || n, 'x' || n, 'public', n, n % 2 FROM generate_series(1, 5000) AS n;
  INSERT INTO channel_members SELECT 'x' || n, 'x' || n % 700, n FROM generate_series(1, 5000) AS n;
  INSERT INTO messages (id, channel_id, position, author_id, type, body, client_uuid, created_at)
    SELECT 'x' || n, 'x' || n % 9, n, 'x' || n, 'standard', repeat('x', 200), n, n FROM generate_series(1, 5000) AS n;
  INSERT INTO reactions SELECT 'x' || n, 'x', 'x' || n, n FROM generate_series(1, 5000) AS n;
  INSERT INTO custom_emoji SELECT 'x' || n % 9, 'x' || n, NULL, n FROM generate_series(1, 5000) AS n;
  INSERT INTO tokens (id, team_id, user_id, name, prefix, hash, scopes, created_at)
    SELECT 'x' || n, 'x' || n % 500, 'x' || n, 'x', 'x', 'x' || n, 'x', n FROM generate_series(1, 5000) AS n;
  INSERT INTO audit_entries
    SELECT 'x' || n, 'x' || n % 500, n, 'x', 'x' || n % 9, 'x', 'x' FROM generate_series(1, 5000) AS n;
  INSERT INTO incoming_webhooks
    SELECT 'x' || n, 'x' || n % 500, 'x' || n % 900, 'x' || n, 'x', 'x' || n, NULL, NULL, n FROM generate_series(1, 5000) AS n;
  INSERT INTO subscriptions (id, team_id, name, url, events, status, secret, created_at, deleted_at, disabled_at, created_by)
    SELECT 'x' || n, 'x' || n % 500, 'x', 'x', 'x', 'active', 'x', n, CASE n % 9 WHEN 0 THEN n END,
      CASE n % 9 WHEN 1 THEN n END, 'x' || n % 900 FROM generate_series(1, 5000) AS n;
  INSERT INTO subscription_filters
    SELECT 'x' || n % 500, 'x' || n % 9, 'x' || n % 99, 'x' || n, 0, 0 FROM generate_series(1, 5000) AS n;
  INSERT INTO events (id, type, data, created_at)
    SELECT 'x' || n, 'x', repeat('x', 300), n FROM generate_series(1, 20000) AS n;
  INSERT INTO fan_outs SELECT 'x' || n % 99, n, 'x' FROM generate_series(1, 5000) AS n;
  INSERT INTO jobs SELECT 'x' || n % 99, n, n FROM generate_series(1, 20000) AS n;
  INSERT INTO attempts (id, subscription_id, event_id, event_type, succeeded, is_replay, duration_ms, created_at, event_seq)
    SELECT 'x' || n, 'x' || n % 99, 'x' || n, 'x', 1, 0, n, n, n FROM generate_series(1, 20000) AS n;
  SET session_replication_role = DEFAULT;
  ANALYZE`;

/** The plans of the statements among many rows, for the parameters with which they ran. */
export async function plansOf<Statement extends Ran>(
  connections: Connections,
  statements: Iterable<Statement>,
): Promise<Array<Statement & { steps: Step[] }>> {
  const session = await connections.session();
  for (const each of manyRows.split(";")) await session.query(each);
  const plans: Array<Statement & { steps: Step[] }> = [];
  for (const statement of statements) {
    const { rows } = await session.query(`EXPLAIN (FORMAT JSON) ${statement.text}`, statement.parameters);
    const [[explained] = []] = rows as Array<[Array<{ Plan: Node }>]>;
    plans.push({ ...statement, steps: explained?.flatMap(({ Plan }) => stepsOf(Plan)) ?? [] });
  }
  session.release();
  return plans;
}

function stepsOf(node: Node): Step[] {
  const step = { kind: node["Node Type"], table: node["Relation Name"], condition: node["Index Cond"] };
  return [step, ...(node.Plans ?? []).flatMap(stepsOf)];
}

/** Tables that have a row or a few in every workspace. */
const small =
  /^(secret_key|key_rotation|queue_clock|deleted_events|backup_(schedule|results)|delivery_(copy|hold|hold_exceptions)|\w+_seq)$/;

/** Whether the step costs the same among any number of rows. */
export function isFlat({ kind, table, condition }: Step): boolean {
  if (table !== undefined && small.test(table)) return true;
  if (kind === "Sort" || kind === "Seq Scan") return false;
  return !/^(Bitmap )?Index/.test(kind) || condition !== undefined;
}
