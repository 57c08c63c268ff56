import { DomainError } from "../../errors.ts";
import { parseDatabaseUrl } from "../../input/database-url.ts";
import { ConnectionTrouble } from "./connection-trouble.ts";
import { listenOn, type Listening } from "./listen.ts";
import { Pool } from "./pool.ts";
import { Session } from "./session.ts";
import type { Result } from "./values.ts";

/** Connections to one database, bounded in number. They are made when they are needed, and anew when they are lost. */
export type Connections = {
  /**
   * Runs one statement with `$1`, `$2`, … on any connection, as a transaction of its own. Statements are sent at once,
   * without waiting for the answers of others. A boolean parameter is sent as 0 or 1, an array as an array.
   * @throws the server's error; an error of which `explainDatabaseError` knows the meaning when there is no connection,
   *   within 15 s. A statement whose connection is lost may have been carried out or not.
   */
  query: (text: string, parameters?: readonly unknown[]) => Promise<Result>;
  /**
   * A connection of one's own, for a transaction or for locks: `release` or `close` it. Waits while all but one are in
   * use. With `unlimited` its statements may run for an
   * hour.
   * @throws ConnectionTrouble `full` after 5 s.
   */
  session(options?: { unlimited?: boolean }): Promise<Session>;
  /**
   * Listens on a channel with one more connection, and listens again whenever that is lost. `onListening` is called each
   * time that it listens: what was sent before has to be looked up then.
   */
  listen(channel: string, onPayload: (payload: string) => void, onListening: () => void): Listening;
  /** Lets statements under way end, for 2 s at most, and closes all connections. */
  close(): Promise<void>;
};

/**
 * Opens connections to the database of the URL, at most `max` and at least 2. Connects when something is asked first.
 * The limits of time above are counted in ticks.
 * @throws DomainError `invalid` for a URL that cannot be used.
 */
export function openConnections(
  url: string,
  { max = 8, tickMs = 1_000 }: { max?: number; tickMs?: number } = {},
): Connections {
  const parsed = parseDatabaseUrl(url);
  if ("problem" in parsed) throw new DomainError("invalid", `PARLEY_DATABASE_URL ${parsed.problem}.`);
  const pool = new Pool(parsed, Math.max(2, max), tickMs);
  const listenings = new Set<Listening>();
  const query: Connections["query"] = (text, parameters = []) => {
    const connection = pool.leastBusy();
    return connection
      ? connection.query(text, parameters)
      : pool.connection().then((found) => found.query(text, parameters));
  };

  return {
    query,
    async session({ unlimited = false } = {}) {
      const session = new Session(await pool.take(), (connection) => pool.giveBack(connection));
      if (unlimited) await session.liftLimits();
      return session;
    },
    listen(channel, onPayload, onListening) {
      const listening = listenOn(parsed, channel, {
        onPayload,
        onListening,
        query,
        host: () => pool.host,
        tickMs,
      });
      listenings.add(listening);
      return listening;
    },
    async close() {
      for (const listening of listenings) listening.close();
      await pool.close(new ConnectionTrouble("closed", "The connections to the database were closed."));
    },
  };
}
