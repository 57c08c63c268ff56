import { Command, CommanderError } from "commander";
import { version } from "../package.json" with { type: "json" };
import type { Environment } from "../src/config.ts";
import { DomainError } from "../src/errors.ts";
import { addServe } from "./commands/serve.ts";
import { exitStatusOf } from "./exit-status.ts";
import { Invocation } from "./invocation.ts";
import { Output } from "./output.ts";

/** Runs the program with the arguments after its name; resolves to its exit status and never rejects. */
export async function run(argv: string[], environment: Environment): Promise<number> {
  const program = commandTree(environment);
  try {
    await program.parseAsync(argv, { from: "user" });
    return 0;
  } catch (error) {
    return fail(error, new Output({ isJson: argv.includes("--json") }));
  }
}

function commandTree(environment: Environment): Command {
  // Before the first subcommand is made: each takes these settings over from its parent.
  const program = new Command("parley").exitOverride().configureOutput({ outputError: () => {} });
  program
    .description("A team-chat workspace's integrations platform")
    .version(version, "-V, --version", "print the version")
    .option("--data-dir <dir>", "the data folder")
    .option("--json", "print one JSON document");
  const invocation = new Invocation(program, environment);
  addServe(program, invocation);
  return program;
}

function fail(error: unknown, output: Output): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    output.failure(error.message);
    return 2;
  }
  if (error instanceof DomainError) {
    output.failure(error.message, error.errors);
    return exitStatusOf[error.code];
  }
  output.failure(error instanceof Error ? error.message : String(error));
  return 1;
}
