import { SQL } from "bun";
import { timestamp } from "../../src/timestamp.ts";
import type { Rows } from "./accounts.ts";

/** What the tables of a PostgreSQL hold: `await using rows = new PostgresRows(url)`. */
export class PostgresRows implements Rows, AsyncDisposable {
  readonly #sql: SQL;

  constructor(url: string) {
    this.#sql = new SQL(url, { max: 1, bigint: true });
  }

  async column(sql: string): Promise<string[]> {
    const rows = (await this.#sql.unsafe(sql).values()) as unknown[][];
    return rows.map(([value]) => String(value)).toSorted((one, other) => (one < other ? -1 : 1));
  }

  async envelopes(): Promise<string[]> {
    const events: Array<{ id: string; type: string; created_at: bigint; data: string }> =
      await this.#sql`SELECT id, type, created_at, data FROM events`;
    return [...events].map(
      ({ id, type, created_at: at, data }) =>
        `{"id":"${id}","type":"${type}","created_at":"${timestamp(Number(at))}","data":${data}}`,
    );
  }

  /** How many attempts of each delivery, by `subscription event`, are in the log. */
  async attempts(condition = "true"): Promise<Map<string, number>> {
    const pairs = await this.column(
      `SELECT subscription_id || ' ' || event_id FROM attempts WHERE ${condition}`,
    );
    return new Map([...Map.groupBy(pairs, (pair) => pair)].map(([pair, all]) => [pair, all.length]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sql.close();
  }
}
