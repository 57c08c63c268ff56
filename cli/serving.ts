import type { Database } from "../src/database/open.ts";
import { DomainError } from "../src/errors.ts";
import type { Log } from "../src/log.ts";
import { explainDataError, openWorkspace } from "../src/workspace.ts";
import type { Invocation, SettingFlags } from "./invocation.ts";
import { stopSignal } from "./stop-signal.ts";

/**
 * Serves the workspace until a signal to stop, then finishes the requests under way and closes the data; a second
 * signal does not wait for them. `onListening` runs once it listens.
 * @throws DomainError `conflict` when the port is taken or the data folder served already, `forbidden` or `invalid`
 *   when the system does not give the port, the address or a file of the data folder; what `openWorkspace` and
 *   `readConfig` throw.
 */
export async function serveUntilStopped(
  invocation: Invocation,
  flags: SettingFlags,
  onListening: (listening: { url: string; database: Database }) => void | Promise<void>,
): Promise<void> {
  const config = invocation.config(flags);
  // Only a server needs these, and they take longer to load than a small command takes to run.
  const [{ startApp }, { createLog }] = await Promise.all([import("../src/app.ts"), import("../src/log.ts")]);
  const { dataDir } = invocation;
  const database = openWorkspace(dataDir);
  try {
    const stopped = stopSignal();
    const log = createLog(config.logLevel);
    endOnFault(log);
    const app = await startApp({ config, dataDir, database, log }).catch((error: unknown) => {
      throw explainListenError(error, config) ?? explainDataError(error, dataDir);
    });
    try {
      await onListening({ url: app.url, database });
      await stopped;
    } finally {
      await app.stop();
    }
  } finally {
    await database.close();
  }
  // A delivery that the stop gave up would keep the process alive until its own time is over.
  process.exit();
}

/**
 * Ends the process with status 1 on a fault that nobody catches. Bun would only print it, since the main module is still
 * being awaited, and go on with a part of the server missing.
 */
function endOnFault(log: Log): void {
  const end = (error: unknown) => {
    log.fatal({ err: error }, "server.failed");
    process.exit(1);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}

/** The refusal that stands for the system's error about the address; undefined when the error is about something else. */
function explainListenError(
  error: unknown,
  { host, port }: { host: string; port: number },
): DomainError | undefined {
  if (!(error instanceof Error && "code" in error && "syscall" in error)) return undefined;
  if (error.syscall !== "listen" && error.syscall !== "getaddrinfo") return undefined;
  const advice = "Choose another one with PARLEY_PORT=N or parley serve --port N; 0 is any free one.";
  switch (error.code) {
    case "EADDRINUSE":
      return new DomainError("conflict", `Port ${port} of ${host} is taken. ${advice}`);
    case "EACCES":
      return new DomainError("forbidden", `Port ${port} is not for this login. ${advice}`);
    case "EADDRNOTAVAIL":
    case "EINVAL":
    case "ENOTFOUND":
      return new DomainError(
        "invalid",
        `${JSON.stringify(host)} is not an address of this machine. 127.0.0.1 is for this machine alone, ` +
          "0.0.0.0 for every network that it is in.",
      );
    default:
      return undefined;
  }
}
