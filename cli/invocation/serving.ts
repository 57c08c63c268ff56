import { lookup } from "node:dns/promises";
import { explainDataError } from "../../src/system/data-errors.ts";
import type { Database } from "../../src/database/database.ts";
import type { WatchedFiles } from "../../src/database/watched-files.ts";
import type { Config } from "../../src/config.ts";
import { parseListenAddress } from "../../src/input/listen-address.ts";
import { DomainError } from "../../src/errors.ts";
import { exitAtOnce, forbidCoreDumps } from "../../src/system/libc.ts";
import type { Log } from "../../src/log/log.ts";
import { unknownSettings, whyUnknown } from "../../src/unknown-settings.ts";
import { exitStatusOf } from "../terminal/exit-status.ts";
import type { Invocation, SettingFlags } from "./invocation.ts";
import { stopSignal } from "./stop-signal.ts";

/** After the files are lost: how long to go on refusing changes before shutdown, and the limit for the shutdown. */
const lostWaitMs = 400;

/**
 * Serves the workspace until a stop signal, then finishes the requests in flight, closes the data and exits; a second
 * signal exits immediately. `onListening` runs once the server listens.
 * @throws DomainError `conflict` when the port is taken or another process serves the data folder, `forbidden` or
 *   `invalid` when the system denies the port, the address or a file of the data folder; what `openWorkspace` and
 *   `readConfig` throw.
 */
export async function serveUntilStopped(
  invocation: Invocation,
  flags: SettingFlags,
  onListening: (listening: { url: string; database: Database }) => void | Promise<void>,
): Promise<void> {
  forbidCoreDumps();
  const config = invocation.config(flags);
  // Only a server needs these, and loading them takes longer than a small command.
  const [{ startApp }, { createLog, standardErrorForPeople }] = await Promise.all([
    import("../../src/app.ts"),
    import("../../src/log/log.ts"),
  ]);
  const { dataDir } = invocation;
  const database = await invocation.openWorkspace(config.webhooksVisibility);
  try {
    const stopped = stopSignal();
    const log = createLog(
      config.logLevel,
      process.stderr.isTTY ? standardErrorForPeople(invocation.output.hasColoredErrors) : undefined,
    );
    warnOfUnknownSettings(invocation, log);
    const watched = database.file?.watched;
    if (watched) endOnLoss(watched, log);
    endOnFault(log, watched);
    const app = await startApp({ config, dataDir, database, log }).catch(async (error: unknown) => {
      throw (await explainListenError(error, config)) ?? explainDataError(error, dataDir);
    });
    try {
      await onListening({ url: app.url, database });
      const refused = app.lost.then(() => Bun.sleep(lostWaitMs));
      const outdated = app.outdated.then(({ message, code }) => {
        log.fatal({ reason: message }, "server.outdated");
        process.exitCode = exitStatusOf[code];
      });
      await Promise.race([stopped, refused, outdated]);
    } finally {
      const givenUp = app.lost.then(() => Bun.sleep(lostWaitMs));
      await Promise.race([app.stop(), givenUp]);
    }
  } finally {
    const loss = await database.file?.watched.lookUntilCertain();
    if (loss?.isDatabaseWhole !== false) await database.close();
  }
  // An abandoned delivery would keep the process alive until its timeout.
  process.exit();
}

function warnOfUnknownSettings({ environment }: Invocation, log: Log): void {
  const unknown = unknownSettings(environment);
  if (unknown.length === 0) return;
  log.warn(
    { names: unknown.map(({ name }) => name), reason: unknown.map(whyUnknown).join(" ") },
    "settings.unknown",
  );
}

/**
 * Logs the loss of a file of the data folder and makes it the exit status, however the process ends. A database file
 * that was replaced is then not closed, because SQLite would write to it.
 */
function endOnLoss(files: WatchedFiles, log: Log): void {
  files.onLost(({ file, reason, isDatabaseWhole }) => {
    log.fatal({ file, reason }, "files.lost");
    process.exitCode = exitStatusOf.data_lost;
    // Runs after the listener that flushes the log.
    if (!isDatabaseWhole) process.on("exit", () => exitAtOnce(exitStatusOf.data_lost));
  });
}

/**
 * Exits with status 1 on an uncaught error. Bun would only print it, since the main module is still being awaited, and
 * continue with part of the server missing.
 */
function endOnFault(log: Log, files: WatchedFiles | undefined): void {
  const end = (error: unknown) => {
    // Lost files may be the cause; looking reports them.
    if (files?.look()) process.exit();
    log.fatal({ err: error }, "server.failed");
    process.exit(1);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}

/** The DomainError for an error in listening on the address; undefined for any other error. */
async function explainListenError(
  error: unknown,
  { host, port, metricsAddress }: Pick<Config, "host" | "port" | "metricsAddress">,
): Promise<DomainError | undefined> {
  if (!(error instanceof Error && "code" in error && "syscall" in error)) return undefined;
  if (error.syscall !== "listen" && error.syscall !== "getaddrinfo") return undefined;
  const advice = "Choose another with PARLEY_PORT=N or parley serve --port N; 0 picks any free port.";
  switch (error.code) {
    case "EADDRINUSE":
      // Bun reports this for a name without an address as well.
      if (!(await hasAddress(host))) return noAddressOfOurs(host);
      // The metrics listen first.
      if (parseListenAddress(metricsAddress)?.port === port) {
        const reason = `PARLEY_METRICS_ADDRESS=${metricsAddress} has port ${port} of the server itself.`;
        return new DomainError("conflict", `${reason} Give the metrics another, such as 127.0.0.1:9464.`);
      }
      return new DomainError("conflict", `Port ${port} of ${host} is taken. ${advice}`);
    case "EACCES":
      return new DomainError("forbidden", `No permission to bind port ${port}. ${advice}`);
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
    `${JSON.stringify(host)} is not an address of this machine. Use 127.0.0.1 for this machine only, ` +
      "0.0.0.0 for all its networks.",
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
