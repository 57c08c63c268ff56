import { lstatSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Connection, Database } from "../database/database.ts";
import type { Log } from "../log/log.ts";
import { machineHash } from "../system/machine.ts";
import { newId } from "../system/repeatable.ts";
import { listTeams } from "../teams/teams.ts";
import { dueAt, noteResult, retryMs } from "./schedule.ts";
import { type ResultRow, type ScheduleRow, selectSchedule } from "./store.ts";

/** How often the schedule is read, in milliseconds: a command may have changed it. */
const lookMs = 1_000;

/** How long a stop waits for a backup to end, in milliseconds. */
const stopWaitMs = 5_000;

/** Makes backups by the schedule while the server runs, each in a process of its own. */
export class ScheduledBackups {
  readonly #database: Database;
  readonly #dataDir: string;
  readonly #log: Log;
  readonly #mayPrune: () => Promise<boolean>;
  #timer: Timer | undefined;
  #child: Bun.Subprocess | undefined;
  #run: Promise<void> | undefined;
  #isStopped = false;
  /**
   * A database that cannot take note of a backup goes on asking for one, so its schedule rests until this time, by
   * `performance.now()`. One that is given anew begins at once.
   */
  #rest = { setAt: 0, until: 0 };

  /** `mayPrune` is asked before old backups are removed. */
  constructor(parts: { database: Database; dataDir: string; log: Log; mayPrune: () => Promise<boolean> }) {
    this.#database = parts.database;
    this.#dataDir = parts.dataDir;
    this.#log = parts.log;
    this.#mayPrune = parts.mayPrune;
  }

  /**
   * Looks at once, so that a backup that was missed is made now, and from then on. PostgreSQL has backups of its own, so
   * a schedule that came along from a data folder is only named.
   */
  start(): void {
    if (!this.#database.file) return void this.#sayNotRun().catch(() => {});
    this.#look();
    this.#timer = setInterval(() => this.#look(), lookMs);
  }

  /**
   * Ends a backup that is being made; nothing is left of it, unless it hangs, as on a network disk that is gone: then it
   * is killed, and the schedule's next backup removes what it wrote.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#child?.kill("SIGTERM");
    const { promise: tooLate, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, stopWaitMs);
    await Promise.race([this.#run, tooLate]);
    clearTimeout(timer);
    // Not waited for: the system cannot kill a process in the middle of such a write.
    this.#child?.kill("SIGKILL");
  }

  async #sayNotRun(): Promise<void> {
    if (!(await this.#database.ask(selectSchedule))) return;
    const reason =
      "A schedule came along with the data, and does not run on PostgreSQL: use pg_dump or pg_basebackup there, and keep " +
      "a copy of secret.key. To remove it: parley backup --every off";
    this.#log.warn({ reason }, "backup.not_run");
  }

  #look(): void {
    this.#run ??= this.#backUpIfDue().finally(() => (this.#run = undefined));
  }

  async #backUpIfDue(): Promise<void> {
    let schedule: ScheduleRow | undefined;
    try {
      const now = Date.now();
      const due = await this.#database.ask((db) => selectDue(db, now));
      if (!due || this.#isResting(due) || this.#isStopped) return;
      schedule = due;
      await this.#backUp(schedule);
    } catch (error) {
      if (schedule) this.#rest = { setAt: schedule.setAt, until: performance.now() + retryMs };
      this.#log.error({ err: error }, "backup.failed");
    }
  }

  #isResting({ setAt }: ScheduleRow): boolean {
    return setAt === this.#rest.setAt && performance.now() < this.#rest.until;
  }

  async #backUp(schedule: ScheduleRow): Promise<void> {
    const prefix = await this.#database.ask(prefixOf);
    const file = join(
      schedule.folder,
      `${prefix}${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}Z.tar`,
    );
    const startedAt = performance.now();
    const outcome = await this.#runBackup(file, schedule);
    if (this.#isStopped && "reason" in outcome) return;
    const at = Date.now();
    if ("reason" in outcome) {
      this.#log.error({ file, reason: outcome.reason }, "backup.failed");
      await this.#note({ kind: "failed", at, file, bytes: null, reason: outcome.reason });
      return;
    }
    const { bytes } = outcome;
    let pruned = 0;
    try {
      // Before the note, which a database that cannot be written does not take: backups would gather meanwhile.
      if (await this.#mayPrune()) pruned = prune(file, prefix, schedule.keep);
    } finally {
      await this.#note({ kind: "made", at, file, bytes, reason: null });
    }
    const tookMs = Math.round(performance.now() - startedAt);
    this.#log.info({ file, bytes, key: outcome.key, pruned, took_ms: tookMs }, "backup.made");
  }

  async #note(result: ResultRow): Promise<void> {
    await this.#database.write((tx) => noteResult(tx, result));
  }

  async #runBackup(
    file: string,
    { passphraseFile }: ScheduleRow,
  ): Promise<{ bytes: number; key: string } | { reason: string }> {
    const key = passphraseFile === null ? ["--without-key"] : ["--passphrase-file", passphraseFile];
    // A file of this name is one that this schedule made within this second.
    const args = ["backup", file, ...key, "--yes", "--json", "--scheduled", "--data-dir", this.#dataDir];
    try {
      const child = Bun.spawn([process.execPath, ...args], {
        stdin: "ignore",
        stdout: "pipe",
        stderr: "ignore",
      });
      this.#child = child;
      const text = await child.stdout.text();
      await child.exited;
      return (
        outcomeIn(text) ?? { reason: `The process ended with status ${child.exitCode ?? child.signalCode}.` }
      );
    } catch (error) {
      return { reason: error instanceof Error ? error.message : String(error) };
    } finally {
      this.#child = undefined;
    }
  }
}

/** The schedule if a backup is due at the time, in milliseconds since 1970. */
function selectDue(db: Connection, now: number): ScheduleRow | undefined {
  const schedule = selectSchedule(db);
  return schedule && dueAt(db, schedule, now) <= now ? schedule : undefined;
}

function outcomeIn(text: string): { bytes: number; key: string } | { reason: string } | undefined {
  try {
    const { data, message } = JSON.parse(text) as {
      data?: { bytes: number; key: string };
      message?: string;
    };
    return data ?? (message === undefined ? undefined : { reason: message });
  } catch {
    return undefined;
  }
}

/**
 * How the names of this server's backups begin. The workspace and the machine are in it, so that a copy of the workspace
 * on another machine that writes to the same folder removes only its own.
 */
async function prefixOf(db: Connection): Promise<string> {
  const [first] = (await listTeams(db)).toSorted((one, other) => (one.id < other.id ? -1 : 1));
  const workspace = (first?.id ?? newId()).slice(-12);
  return `parley-${workspace}-${machineHash()?.slice(0, 8) ?? "anywhere"}-`;
}

/**
 * Removes the oldest backups with the prefix next to the one that was just made, beyond `keep` of them, and what killed
 * ones left. Returns how many backups. Those with later names were made while the clock was ahead, so they are older.
 */
function prune(made: string, prefix: string, keep: number): number {
  const folder = dirname(made);
  const own = readdirSync(folder)
    .filter((name) => name.startsWith(prefix) && lstatSync(join(folder, name)).isFile())
    .sort();
  for (const name of own.filter((each) => each.endsWith(".partial")))
    rmSync(join(folder, name), { force: true });
  const backups = own.filter((name) => /^[0-9TZ-]+\.tar$/.test(name.slice(prefix.length)));
  const newest = basename(made);
  const others = [...backups.filter((name) => name > newest), ...backups.filter((name) => name < newest)];
  const old = others.slice(0, Math.max(0, others.length - (keep - 1)));
  for (const name of old) rmSync(join(folder, name), { force: true });
  return old.length;
}
