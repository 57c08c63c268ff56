import { SQL } from "bun";
import { ConnectionTrouble } from "./connection-trouble.ts";

/** Whether connecting may work within a second: the server is restarting, or has no place left. */
export function passesSoon(error: unknown): boolean {
  if (error instanceof ConnectionTrouble) return true;
  if (!(error instanceof SQL.PostgresError)) return false;
  return error.errno === undefined ? true : /^(08|57P0|53)/.test(error.errno);
}
