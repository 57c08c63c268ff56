import type { Command } from "commander";
import { readConfig } from "../../src/config.ts";
import { DomainError } from "../../src/errors.ts";
import { openWorkspace } from "../../src/workspace.ts";
import type { Invocation } from "../invocation.ts";

/** `parley serve`: migrates the data, serves, and stops cleanly when it is told to. */
export function addServe(program: Command, invocation: Invocation): void {
  program
    .command("serve")
    .description("Serve the workspace until it is stopped")
    .option("--host <host>", "address to listen on")
    .option("--port <port>", "port to listen on, 0 for any free one")
    .action(async (options: { host?: string; port?: string }) => {
      await serve(invocation, options, ({ url }) => {
        invocation.output.result({ url }, `Parley is listening at ${url}\nStop it with Ctrl-C.`);
      });
    });
}

/**
 * Serves the workspace until SIGTERM or SIGINT, then finishes the requests under way and closes the data; a second
 * signal does not wait for them. `onListening` is awaited once it listens.
 * @throws DomainError `conflict` when the address is taken; what `openWorkspace` and `readConfig` throw.
 */
export async function serve(
  invocation: Invocation,
  flags: { host?: string; port?: string },
  onListening: (listening: { url: string }) => void | Promise<void>,
): Promise<void> {
  const config = readConfig(invocation.dataDir, invocation.environment, flags);
  // Only a server needs these, and they take longer to load than a small command takes to run.
  const [{ startApp }, { createLog }] = await Promise.all([
    import("../../src/app.ts"),
    import("../../src/log.ts"),
  ]);
  const database = openWorkspace(invocation.dataDir);
  try {
    const stopped = stopSignal();
    const { dataDir } = invocation;
    const log = createLog(config.logLevel);
    const app = await startListening(() => startApp({ config, dataDir, database, log }), config);
    try {
      await onListening(app);
      await stopped;
    } finally {
      await app.stop();
    }
  } finally {
    await database.close();
  }
}

async function startListening<App>(
  start: () => Promise<App>,
  { host, port }: { host: string; port: number },
): Promise<App> {
  try {
    return await start();
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
    throw new DomainError(
      "conflict",
      `Port ${port} of ${host} is taken by another program. Choose another one with --port, or --port 0 for any.`,
    );
  }
}

/** Resolves with the first signal to stop; the second one ends the process at once. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    const stop = () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      resolve();
    };
    process.on("SIGTERM", stop);
    process.on("SIGINT", stop);
  });
}
