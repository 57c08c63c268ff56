import type { Command } from "commander";
import { type Config, dataDirectory, type Environment, readConfig, readSetting } from "../../src/config.ts";
import { explainDataError, explainSqliteError } from "../../src/system/data-errors.ts";
import type { Database } from "../../src/database/database.ts";
import { connectionsOf } from "../../src/database/postgres/open.ts";
import { sayNow } from "../../src/nodes/notices.ts";
import { signalWork } from "../../src/outbox/signal.ts";
import { getTeamNamed, listTeams, type Team } from "../../src/teams/teams.ts";
import { openWorkspace, type Place } from "../../src/workspace.ts";
import { cliActor } from "./actor.ts";
import { CommandTrace } from "./command-trace.ts";
import { Output } from "../terminal/output.ts";
import { byteSize } from "../terminal/quantity.ts";
import { Prompts } from "../terminal/prompts.ts";

type GlobalOptions = {
  dataDir?: string;
  team?: string;
  json?: true;
  quiet?: true;
  color: boolean;
  yes?: true;
};

/** Settings from the command line, as text; they override the environment. */
export type SettingFlags = { host?: string; port?: string; logLevel?: string };

/** The open workspace and the team that a command works on. */
export type InTeam = { database: Database; team: Team; trace: CommandTrace };

/** One run of the program: its global options, available once the arguments are parsed, and what follows from them. */
export class Invocation {
  readonly environment: Environment;
  readonly #program: Command;
  /** The nouns and the verb of the running command, such as `channels add-member`; set before its action. */
  commandName = "";

  constructor(program: Command, environment: Environment) {
    this.#program = program;
    this.environment = environment;
  }

  get options(): GlobalOptions {
    return this.#program.opts<GlobalOptions>();
  }

  get output(): Output {
    const { json, quiet, color } = this.options;
    return new Output({
      isJson: json === true,
      isQuiet: quiet === true,
      hasColor: color,
      environment: this.environment,
    });
  }

  /** Asks only on a terminal, and not with `--json`, which a program reads. */
  get prompts(): Prompts {
    const { json, yes, color } = this.options;
    const canAsk = process.stdin.isTTY === true && process.stderr.isTTY === true && json !== true;
    return new Prompts({ canAsk, saysYes: yes === true, hasColor: color });
  }

  /** The actor for the audit log. */
  get actor(): string {
    return cliActor();
  }

  /** @throws DomainError `usage` when neither an option nor the environment says where it is. */
  get dataDir(): string {
    return dataDirectory(this.options.dataDir, this.environment);
  }

  /**
   * Where the workspace is.
   * @throws DomainError `invalid` when `PARLEY_DATABASE_URL` does not parse.
   */
  get place(): Place {
    const { dataDir } = this;
    return { dataDir, ...readSetting("databaseUrl", dataDir, this.environment) };
  }

  /** @throws DomainError `invalid` for a setting that does not parse. */
  config(flags: SettingFlags = {}): Config {
    return readConfig(this.dataDir, this.environment, flags);
  }

  /**
   * Which events subscriptions receive. Opening the workspace reads only this setting, so that commands keep working
   * while a setting that only the server needs does not parse.
   * @throws DomainError `invalid` when it does not parse.
   */
  get visibility(): Pick<Config, "webhooksVisibility"> {
    return readSetting("webhooksVisibility", this.dataDir, this.environment);
  }

  /**
   * The server's public URL according to the settings, or else that of its port on this machine.
   * @throws DomainError `invalid` for a setting that does not parse.
   */
  get baseUrl(): string {
    const { baseUrl, port } = this.config();
    return baseUrl || `http://localhost:${port}`;
  }

  /**
   * Opens the workspace; on a terminal an upgrade of its data shows how far it is.
   * @throws what the function of this name in `workspace.ts` throws.
   */
  async openWorkspace(webhooksVisibility: Config["webhooksVisibility"]): Promise<Database> {
    using progress = this.output.progress();
    return await openWorkspace(this.place, {
      webhooksVisibility,
      onCopy: (done, total) =>
        progress.showPart("Copying the data before the upgrade", done, total, byteSize),
      onMigration: (name, number, of) => {
        progress.clear();
        progress.show(`Upgrading the data: ${number} of ${of} (${name})`);
      },
    });
  }

  /**
   * Runs `work` with the workspace open, then closes it.
   * @throws what `visibility`, `openWorkspace` and `work` throw.
   */
  async inWorkspace<T>(work: (database: Database, trace: CommandTrace) => Promise<T>): Promise<T> {
    const { otlpEndpoint } = readSetting("otlpEndpoint", this.dataDir, this.environment);
    const trace = new CommandTrace(otlpEndpoint, this.commandName);
    const database = await this.openWorkspace(this.visibility.webhooksVisibility);
    // A server on the same data folder then delivers immediately.
    database.onWork(() => this.tellServer(database));
    try {
      const result = await work(trace.around(database), trace);
      await trace.end();
      return result;
    } catch (error) {
      await trace.end(error);
      throw explainSqliteError(error, this.dataDir);
    } finally {
      await database.close();
    }
  }

  /**
   * Runs `work` with the team of `--team`, or else the only team, or else the one chosen at a prompt.
   * @throws DomainError `usage` when there are several teams and none is named; what `openWorkspace` and `work` throw.
   */
  async inTeam<T>(work: (at: InTeam) => Promise<T>): Promise<T> {
    return await this.inWorkspace(async (database, trace) => {
      const reference = await this.#teamReference(database);
      const team = await database.ask((db) => getTeamNamed(db, reference));
      return await work({ database, team, trace });
    });
  }

  /**
   * Makes `work` the action of a command about one team. It takes the team, then what commander gives to an action: the
   * arguments and the options.
   */
  teamAction<Given extends unknown[]>(
    command: Command,
    work: (at: InTeam, ...given: Given) => Promise<void>,
  ): void {
    command.action(async (...given: Given) => {
      await this.inTeam(async (at) => await work(at, ...given));
    });
  }

  /** Makes `work` the action of a command about the whole workspace, as `teamAction` does. */
  workspaceAction<Given extends unknown[]>(
    command: Command,
    work: (database: Database, ...given: Given) => Promise<void>,
  ): void {
    command.action(async (...given: Given) => {
      await this.inWorkspace(async (database) => await work(database, ...given));
    });
  }

  /**
   * Makes running servers look for what this command has changed about deliveries. The change is committed already: a
   * server that misses the signal delivers it with the next one.
   */
  tellServer(database: Database): void {
    const connections = connectionsOf(database);
    // Its close waits for this. A notice that is lost with the connection is made up for by the servers' own looks.
    if (connections) return void sayNow(connections, "work").catch(() => {});
    try {
      signalWork(this.dataDir);
    } catch (error) {
      const { message } = explainDataError(error, this.dataDir) as Error;
      this.output.note(`The server does not know of it yet. ${message}`);
    }
  }

  async #teamReference(database: Database): Promise<string | undefined> {
    const { team } = this.options;
    if (team !== undefined || !this.prompts.canAsk) return team;
    const teams = await database.ask(listTeams);
    if (teams.length < 2) return undefined;
    return await this.prompts.choice(undefined, {
      question: "Which team?",
      option: "--team",
      choices: () => teams.map(({ slug, name }) => ({ value: slug, label: name, hint: slug })),
    });
  }
}
