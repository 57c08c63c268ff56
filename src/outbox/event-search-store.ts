import type { Connection } from "../database/database.ts";
import { query } from "../database/prepared.ts";
import type { StoredEvent } from "./envelope.ts";

/** An event with its number. */
export type NumberedEvent = StoredEvent & { seq: number };

const columns = 'seq, id, type, data, created_at AS "createdAt"';

const fromStatement = query<{ seq: number; createdAt: number }, [number]>(
  'SELECT seq, created_at AS "createdAt" FROM events WHERE seq >= ? ORDER BY seq LIMIT 1',
);

/** The first event that is left whose number is at least `seq`. */
export function selectEventFrom(db: Connection, seq: number): { seq: number; createdAt: number } | undefined {
  return fromStatement(db).get(seq) ?? undefined;
}

const bySeqStatement = query<NumberedEvent, [number]>(`SELECT ${columns} FROM events WHERE seq = ?`);

/** The event of this number; undefined once retention has deleted it. */
export function selectNumberedEvent(db: Connection, seq: number): NumberedEvent | undefined {
  return bySeqStatement(db).get(seq) ?? undefined;
}

const afterStatement = query<NumberedEvent, [number, number]>(
  `SELECT ${columns} FROM events WHERE seq > ? ORDER BY seq LIMIT ?`,
);

/** The events after the number, at most `limit`, in order. */
export function selectEventsAfter(db: Connection, seq: number, limit: number): NumberedEvent[] {
  return afterStatement(db).all(seq, limit);
}

// `g` comes after every digit and hyphen. An inner LIMIT, so that no search reads more events than that.
const byStartStatement = query<NumberedEvent, [number, number, string, string, number]>(
  `SELECT ${columns} FROM (SELECT * FROM events WHERE seq >= ? ORDER BY seq LIMIT ?) AS page
   WHERE id >= cast(? AS text) AND id < cast(? AS text) || 'g' ORDER BY seq LIMIT ?`,
);

/** Which of the `searched` events from the number on have an id that begins like this, at most `limit`. */
export function selectEventsById(
  db: Connection,
  from: number,
  searched: number,
  start: string,
  limit: number,
): NumberedEvent[] {
  return byStartStatement(db).all(from, searched, start, start, limit);
}

const byEndStatement = query<NumberedEvent, [number, string, number]>(
  `SELECT ${columns} FROM (SELECT * FROM events ORDER BY seq DESC LIMIT ?) AS newest
   WHERE id LIKE '%' || cast(? AS text) ORDER BY seq DESC LIMIT ?`,
);

/** Which of the `searched` newest events have an id that ends like this, at most `limit`. */
export function selectNewestEventsById(
  db: Connection,
  searched: number,
  end: string,
  limit: number,
): NumberedEvent[] {
  return byEndStatement(db).all(searched, end, limit);
}

const mentioningStatement = query<NumberedEvent, [number, number, string, number]>(
  `SELECT ${columns} FROM (SELECT * FROM events WHERE seq >= ? ORDER BY seq LIMIT ?) AS page
   WHERE data LIKE '%' || cast(? AS text) || '%' ORDER BY seq LIMIT ?`,
);

/** Which of the `searched` events from the number on mention the id, at most `limit`. */
export function selectEventsMentioning(
  db: Connection,
  from: number,
  searched: number,
  id: string,
  limit: number,
): NumberedEvent[] {
  return mentioningStatement(db).all(from, searched, id, limit);
}
