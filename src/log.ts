import { type DestinationStream, type Logger, pino } from "pino";

export type Log = Logger;

/**
 * The log: one JSON line per operation on standard error, with everything known about it. It never holds a secret, so
 * whoever logs an address logs the route and not the path.
 */
export function createLog(level: string, destination: DestinationStream = pino.destination({ fd: 2, sync: true })): Log {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}
