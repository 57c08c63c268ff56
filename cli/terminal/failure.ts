import { CommanderError } from "commander";
import type { Environment } from "../../src/config.ts";
import { DomainError } from "../../src/errors.ts";
import { exitStatusOf } from "./exit-status.ts";
import { Output } from "./output.ts";
import { Cancelled } from "./prompts.ts";
import { FailedRequest } from "./failed-request.ts";

const failed = 1;

/**
 * Prints the error and returns the exit status. Reads `argv` itself for the output options, because parsing it may be
 * what failed.
 */
export function report(error: unknown, argv: readonly string[], environment: Environment): number {
  // commander throws after printing the help or the version.
  if (error instanceof CommanderError && error.exitCode === 0) return 0;
  const output = new Output({
    isJson: argv.includes("--json"),
    isQuiet: false,
    hasColor: !argv.includes("--no-color"),
    environment,
  });
  if (error instanceof CommanderError) {
    // Without a command, commander has printed the help for people.
    if (error.code !== "commander.help" || output.isJson) output.failure(sentence(error));
    return exitStatusOf.usage;
  }
  if (error instanceof DomainError) {
    output.failure(error.message, { errors: error.errors });
    return exitStatusOf[error.code];
  }
  if (error instanceof FailedRequest) {
    output.failure(error.message, { data: error.data });
    return failed;
  }
  if (error instanceof Cancelled) {
    output.failure(error.message);
    return failed;
  }
  // An internal error: one line, with the stack only at a debug log level.
  output.failure(`Something went wrong: ${error instanceof Error ? error.message : String(error)}`);
  const showsStack = ["debug", "trace"].includes(environment.PARLEY_LOG_LEVEL ?? "");
  if (showsStack && error instanceof Error && error.stack) process.stderr.write(`${error.stack}\n`);
  return failed;
}

/** Turns `error: unknown option '--foo'\n(Did you mean …?)` into one capitalized line. */
function sentence(error: CommanderError): string {
  if (error.code === "commander.help") return "A command is missing. See --help for the list.";
  const text = error.message.replace(/^error: /, "").replaceAll("\n", " ");
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  if (/[.)]$/.test(begun)) return begun;
  return error.code === "commander.unknownCommand" ? `${begun}. See --help for the list.` : `${begun}.`;
}
