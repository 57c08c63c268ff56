import { lookup } from "node:dns/promises";
import { explainDataError } from "../../src/system/data-errors.ts";
import type { Database } from "../../src/database/database.ts";
import type { OpenFiles } from "../../src/database/open-files.ts";
import { DomainError } from "../../src/errors.ts";
import { exitAtOnce, forbidCoreDumps } from "../../src/system/libc.ts";
import type { Log } from "../../src/log/log.ts";
import { openWorkspace } from "../../src/data-folder.ts";
import { exitStatusOf } from "../terminal/exit-status.ts";
import type { Invocation, SettingFlags } from "./invocation.ts";
import { stopSignal } from "./stop-signal.ts";

/** How long changes are refused once the files are lost, before connections are closed, and how long that may take. */
const lostWaitMs = 400;

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
  forbidCoreDumps();
  const config = invocation.config(flags);
  // Only a server needs these, and they take longer to load than a small command takes to run.
  const [{ startApp }, { createLog }] = await Promise.all([
    import("../../src/app.ts"),
    import("../../src/log/log.ts"),
  ]);
  const { dataDir } = invocation;
  const database = openWorkspace(dataDir, config.webhooksVisibility);
  try {
    const stopped = stopSignal();
    const log = createLog(config.logLevel);
    endOnLoss(database.files, log);
    endOnFault(log, database.files);
    const app = await startApp({ config, dataDir, database, log }).catch(async (error: unknown) => {
      throw (await explainListenError(error, config)) ?? explainDataError(error, dataDir);
    });
    try {
      await onListening({ url: app.url, database });
      const refused = app.lost.then(() => Bun.sleep(lostWaitMs));
      await Promise.race([stopped, refused]);
    } finally {
      const givenUp = app.lost.then(() => Bun.sleep(lostWaitMs));
      await Promise.race([app.stop(), givenUp]);
    }
  } finally {
    const loss = await database.files.lookUntilCertain();
    if (loss?.isDatabaseWhole !== false) await database.close();
  }
  // A delivery that the stop gave up would keep the process alive until its own time is over.
  process.exit();
}

/**
 * Says that a file of the data folder is lost, when it is found to be, and makes that what the process ends with,
 * whatever it ends by. A database that is another one's is not closed then: SQLite would write to it.
 */
function endOnLoss(files: OpenFiles, log: Log): void {
  files.onLost(({ file, reason, isDatabaseWhole }) => {
    log.fatal({ file, reason }, "files.lost");
    process.exitCode = exitStatusOf.data_lost;
    // After what writes the log's last lines.
    if (!isDatabaseWhole) process.on("exit", () => exitAtOnce(exitStatusOf.data_lost));
  });
}

/**
 * Ends the process with status 1 on a fault that nobody catches. Bun would only print it, since the main module is still
 * being awaited, and go on with a part of the server missing.
 */
function endOnFault(log: Log, files: OpenFiles): void {
  const end = (error: unknown) => {
    // It may come of files that are not there any more, which is what there is to say then.
    if (files.look()) process.exit();
    log.fatal({ err: error }, "server.failed");
    process.exit(1);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}

/** The refusal that stands for the system's error about the address; undefined when the error is about something else. */
async function explainListenError(
  error: unknown,
  { host, port }: { host: string; port: number },
): Promise<DomainError | undefined> {
  if (!(error instanceof Error && "code" in error && "syscall" in error)) return undefined;
  if (error.syscall !== "listen" && error.syscall !== "getaddrinfo") return undefined;
  const advice = "Choose another one with PARLEY_PORT=N or parley serve --port N; 0 is any free one.";
  switch (error.code) {
    case "EADDRINUSE":
      // Bun says so too of a name that has no address.
      if (!(await hasAddress(host))) return noAddressOfOurs(host);
      return new DomainError("conflict", `Port ${port} of ${host} is taken. ${advice}`);
    case "EACCES":
      return new DomainError("forbidden", `Port ${port} is not for this login. ${advice}`);
    case "EADDRNOTAVAIL":
    case "EINVAL":
    case "ENOTFOUND":
      return noAddressOfOurs(host);
    default:
      return undefined;
  }
}

function noAddressOfOurs(host: string): DomainError {
  return new DomainError(
    "invalid",
    `${JSON.stringify(host)} is not an address of this machine. 127.0.0.1 is for this machine alone, ` +
      "0.0.0.0 for every network that it is in.",
  );
}

async function hasAddress(host: string): Promise<boolean> {
  try {
    await lookup(host);
    return true;
  } catch {
    return false;
  }
}
