import { processEnvironment } from "../src/config.ts";
import { run } from "./program.ts";

// Set instead of exited with: what was printed into a pipe still has to leave.
process.exitCode = await run(process.argv.slice(2), processEnvironment);
