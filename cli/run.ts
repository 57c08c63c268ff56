import { processEnvironment } from "../src/config.ts";
import { report } from "./terminal/failure.ts";
import { parleyProgram } from "./program.ts";

process.stdout.on("error", (error: Error & { code?: string }) => {
  // The reader has seen enough, as `head` has: what was asked for is done all the same.
  if (error.code === "EPIPE") return;
  process.stderr.write(`error: The result cannot be written: ${error.message}\n`);
  process.exit(1);
});

// The status is set and the process not ended: what was printed into a pipe still has to leave.
process.exitCode = await run(process.argv.slice(2));

/** Runs the program with the arguments after its name and returns the exit status. */
async function run(argv: string[]): Promise<number> {
  try {
    await parleyProgram(processEnvironment).parseAsync(argv, { from: "user" });
    return 0;
  } catch (error) {
    return report(error, argv, processEnvironment);
  }
}
