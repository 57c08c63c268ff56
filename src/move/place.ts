import { resolve } from "node:path";
import { DomainError } from "../errors.ts";
import { parseDatabaseUrl, shownDatabase } from "../input/database-url.ts";

/** Where a workspace is or goes: a data folder, or a database on PostgreSQL. `shown` has no password. */
export type Place = { kind: "folder"; shown: string } | { kind: "database"; url: string; shown: string };

/** Where a command finds the workspace: in the database of the settings, or else in the data folder. */
export function placeOfSettings(databaseUrl: string, dataDir: string): Place {
  return placeOf(databaseUrl || resolve(dataDir));
}

/**
 * The place that a text names: a URL of PostgreSQL, or else a folder.
 * @throws DomainError `invalid` for another URL, or for one that is not complete.
 */
export function placeOf(text: string): Place {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return { kind: "folder", shown: resolve(text) };
  const parsed = parseDatabaseUrl(text);
  if ("problem" in parsed) throw new DomainError("invalid", `The URL to move to ${parsed.problem}.`);
  return { kind: "database", url: text, shown: `postgres://${shownDatabase(parsed)}` };
}
