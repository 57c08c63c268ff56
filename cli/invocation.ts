import type { Command } from "commander";
import { dataDirectory, type Environment } from "../src/config.ts";
import { Output } from "./output.ts";

type GlobalOptions = { dataDir?: string; json?: true };

/** One run of the program: its global options and what follows from them, known once the arguments are parsed. */
export class Invocation {
  readonly environment: Environment;
  readonly #program: Command;

  constructor(program: Command, environment: Environment) {
    this.#program = program;
    this.environment = environment;
  }

  get output(): Output {
    return new Output({ isJson: this.#options.json === true });
  }

  /** @throws DomainError `usage` when nothing says where it is. */
  get dataDir(): string {
    return dataDirectory(this.#options.dataDir, this.environment);
  }

  get #options(): GlobalOptions {
    return this.#program.opts<GlobalOptions>();
  }
}
