import { CommanderError } from "commander";
import type { Environment } from "../../src/config.ts";
import { DomainError } from "../../src/errors.ts";
import { exitStatusOf } from "./exit-status.ts";
import { Output } from "./output.ts";
import { Cancelled } from "./prompts.ts";
import { Unsuccessful } from "./unsuccessful.ts";

const failed = 1;

/**
 * Says what went wrong and returns the exit status. The arguments are looked at as they came, because they may be what
 * could not be understood.
 */
export function report(error: unknown, argv: readonly string[], environment: Environment): number {
  // Asked for the help or the version: it has been printed.
  if (error instanceof CommanderError && error.exitCode === 0) return 0;
  const output = new Output({
    isJson: argv.includes("--json"),
    isQuiet: false,
    hasColor: !argv.includes("--no-color"),
    environment,
  });
  if (error instanceof CommanderError) {
    // Without a command, people have been shown the help by now.
    if (error.code !== "commander.help" || output.isJson) output.failure(sentence(error));
    return exitStatusOf.usage;
  }
  if (error instanceof DomainError) {
    output.failure(error.message, { errors: error.errors });
    return exitStatusOf[error.code];
  }
  if (error instanceof Unsuccessful) {
    output.failure(error.message, { data: error.data });
    return failed;
  }
  if (error instanceof Cancelled) {
    output.failure(error.message);
    return failed;
  }
  // A fault of ours: one line for people, and the place of it for those who look for it.
  output.failure(`Something went wrong: ${error instanceof Error ? error.message : String(error)}`);
  const isLookedFor = ["debug", "trace"].includes(environment.PARLEY_LOG_LEVEL ?? "");
  if (isLookedFor && error instanceof Error && error.stack) process.stderr.write(`${error.stack}\n`);
  return failed;
}

/** `error: unknown option '--foo'\n(Did you mean …?)` as one line that begins like a sentence. */
function sentence(error: CommanderError): string {
  if (error.code === "commander.help") return "A command is missing. See --help for what there is.";
  const text = error.message.replace(/^error: /, "").replaceAll("\n", " ");
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  if (/[.)]$/.test(begun)) return begun;
  return error.code === "commander.unknownCommand" ? `${begun}. See --help for what there is.` : `${begun}.`;
}
