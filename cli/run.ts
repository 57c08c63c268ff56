import { processEnvironment } from "../src/config.ts";
import { report } from "./terminal/failure.ts";
import { parleyProgram } from "./program.ts";

process.stdout.on("error", (error: Error & { code?: string }) => {
  // The reader closed the pipe, as `head` does: finish the command all the same.
  if (error.code === "EPIPE") return;
  process.stderr.write(`error: Cannot write the result: ${error.message}\n`);
  process.exit(1);
});

// Set exitCode rather than exit, so buffered output drains.
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
