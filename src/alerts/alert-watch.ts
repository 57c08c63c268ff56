import type { Connection, Database } from "../database/database.ts";
import type { Log } from "../log/log.ts";
import { findAlerts, sayAlerts } from "./alerts.ts";
import { freeBytes } from "../system/disk-space.ts";
import { selectAlertChannels } from "./store.ts";

/** How often a server looks for something to say, in milliseconds. Where no team is told, a look reads one empty table. */
const lookMs = 60_000;

/** Tells teams in their channels what needs attention, while the server runs. Several servers say each thing once. */
export class AlertWatch {
  readonly #database: Database;
  readonly #dataDir: string;
  readonly #log: Log;
  #timer: Timer | undefined;
  #run: Promise<void> | undefined;
  /** What keeps each team from being told, so that it is logged once. */
  readonly #problems = new Map<string, string>();

  constructor({ database, dataDir, log }: { database: Database; dataDir: string; log: Log }) {
    this.#database = database;
    this.#dataDir = dataDir;
    this.#log = log;
  }

  /** Looks now, and then once a minute. */
  start(): void {
    this.#look();
    this.#timer = setInterval(() => this.#look(), lookMs);
  }

  /** Resolves after the look in progress. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#run;
  }

  #look(): void {
    this.#run ??= this.#sayWhatChanged()
      .catch((error: unknown) => this.#log.error({ err: error }, "alerts.failed"))
      .finally(() => (this.#run = undefined));
  }

  async #sayWhatChanged(): Promise<void> {
    const free = this.#freeBytes();
    for (const teamId of await this.#database.ask((db) => teamsToTell(db, free))) {
      const problem = await this.#database.write((tx) => sayAlerts(tx, teamId, free));
      if (problem === null) this.#problems.delete(teamId);
      else if (this.#problems.get(teamId) !== problem) {
        this.#problems.set(teamId, problem);
        this.#log.warn({ team: teamId, reason: problem }, "alerts.not_posted");
      }
    }
  }

  /** The room for the data, in bytes; undefined where it is on the disk of a PostgreSQL. */
  #freeBytes(): number | undefined {
    return this.#database.file ? freeBytes(this.#dataDir) : undefined;
  }
}

/** The teams for which something has changed. */
async function teamsToTell(db: Connection, freeBytes: number | undefined): Promise<string[]> {
  const teams: string[] = [];
  for (const row of await selectAlertChannels(db))
    if ((await findAlerts(db, row, freeBytes)).length > 0) teams.push(row.teamId);
  return teams;
}
