import { type Config, processEnvironment, requestsAllowed } from "./config.ts";
import { dataDamaged } from "./system/data-errors.ts";
import type { Database } from "./database/database.ts";
import type { Loss } from "./database/open-files.ts";
import { holdServerLock } from "./database/server-lock.ts";
import { findDamage } from "./database/soundness.ts";
import type { AddressGuard } from "./outbound/address-guard.ts";
import type { Outgoing } from "./deliveries/attempt.ts";
import { FanOutLoop } from "./deliveries/fan-out-loop.ts";
import { type Places, placesFor } from "./deliveries/places.ts";
import { Retention } from "./deliveries/retention.ts";
import { Worker } from "./deliveries/worker.ts";
import { DescriptorReserve, descriptorShares } from "./system/descriptors.ts";
import { application } from "./application.ts";
import { authentication } from "./http/authentication.ts";
import type { Listener } from "./http/listener.ts";
import { RateLimit } from "./http/rate-limit.ts";
import { startServer } from "./http/server.ts";
import { WrongCredentials } from "./http/wrong-credentials.ts";
import { watchForWork } from "./outbox/signal.ts";
import { startLateStarters } from "./system/late-starters.ts";
import type { Log } from "./log/log.ts";
import { whyTooShort } from "./scim/credential.ts";
import { findDirectoryTeam } from "./scim/team.ts";
import { findKey, keyFile } from "./secrets/key.ts";
import { findUnreadableSecrets } from "./unreadable-secrets.ts";
import { Vault } from "./secrets/vault.ts";
import { findExposed } from "./system/trusted-files.ts";

/** How often the files of the data folder are looked at, in milliseconds. */
const lookEveryMs = 1_000;

/** A running server. */
export type RunningApp = {
  /** Where it listens, with the port that the system gave. */
  url: string;
  /** Resolves when a file of the data folder is found to be exchanged or gone. Nothing is written from then on. */
  lost: Promise<Loss>;
  /** Takes nothing new, lets the requests and deliveries under way finish, then returns. The database stays open. */
  stop(): Promise<void>;
};

export type AppParts = {
  config: Config;
  dataDir: string;
  database: Database;
  log: Log;
  /** What tests put in the place of the network's names and authorities. */
  overrides?: Pick<AddressGuard, "resolve" | "allow" | "ownAddresses"> & { ca?: string };
};

/**
 * Puts the parts together: serves, delivers and cleans up. This is the only place that knows them all. Where it throws,
 * nothing of it goes on.
 * @throws DomainError `conflict` when another server works on the data folder; `data_damaged` when the database cannot
 *   be read; the operating system's error when the address is taken, or a file of the data folder not for this login.
 */
export async function startApp({
  config,
  dataDir,
  database,
  log,
  overrides = {},
}: AppParts): Promise<RunningApp> {
  await using begun = new AsyncDisposableStack();
  const lock = begun.use(holdServerLock(dataDir));
  const lateStarters = startLateStarters();
  const checkedInMs = checkDatabase(database, dataDir);
  const { ca, ...guardOverrides } = overrides;
  const vault = new Vault(findKey(dataDir, config.secretKey));
  if (await vault.adopt(database)) {
    log.error(
      { reason: "The secrets are kept under another key than the server had before." },
      "secrets.key_changed",
    );
  }
  for (const exposed of findExposed(dataDir, keyFile(dataDir))) log.warn(exposed, "data_folder.exposed");
  database.onTrouble({
    onTrouble: ({ kind, reason }, error) => log.error({ of: kind, reason, err: error }, "database.trouble"),
    onEnd: ({ kind, since }) =>
      log.info({ of: kind, lasted_ms: Date.now() - since }, "database.trouble_over"),
  });
  const unreadable = await findUnreadableSecrets(database.read, vault);
  if (unreadable) log.error(unreadable, "secrets.unreadable");
  const guard: AddressGuard = { blockPrivate: config.webhooksBlockPrivateUrls, ...guardOverrides };
  const directory = config.scimToken ? { token: config.scimToken, team: config.scimTeam } : undefined;
  // Said at the start, and not to the first directory that calls.
  if (directory) await findDirectoryTeam(database.read, directory.team);
  const tooShort = directory && whyTooShort(directory.token);
  if (tooShort !== undefined) log.warn({ reason: tooShort }, "scim.token_too_short");

  let listening = "";
  let listener: Listener | undefined;
  const wrongCredentials = new WrongCredentials(log, (request) => listener?.addressOf(request));
  const root = application(
    {
      database,
      vault,
      guard,
      log,
      authentication: authentication(database, new RateLimit(config.apiRateLimit), wrongCredentials),
      ingestRateLimit: new RateLimit(config.ingestRateLimit),
      wrongCredentials,
      maxSubscriptions: config.webhooksMaxSubscriptions,
      baseUrl: () => config.baseUrl || listening,
    },
    config,
    directory,
  );
  const shares = descriptorShares();
  const outgoing = { guard, timeoutMs: config.webhooksTimeout * 1000, ca };
  // Bun keeps what is beyond waiting while its time runs.
  const requestsAtOnce = Math.min(shares.deliveries, requestsAllowed(processEnvironment) - 16);
  const deliveries = config.integrationsEnabled
    ? prepareDeliveries(
        { config, dataDir, database, log },
        { vault, outgoing, places: placesFor(requestsAtOnce) },
      )
    : undefined;
  begun.defer(() => deliveries?.stop());
  await lateStarters;
  // After all that can fail for want of a file: nobody is answered by a server that then gives up.
  const server = startServer(root, log, config, new DescriptorReserve(shares.keptBack));
  listener = server;
  begun.defer(() => server.stop());
  listening = `http://${urlHost(config.host)}:${server.port}`;
  await deliveries?.begin();
  // What is past its time goes, whether anything is delivered or not.
  const retention = new Retention(database, config.webhooksRetentionDays, log);
  retention.start();
  const files = watchFiles(database, lock.path);
  // It stands: from here on the one who called ends it.
  begun.move();
  if (database.logBytesFound > 0) {
    const reason =
      "parley.db-wal held changes: the last server or command did not end cleanly, or one is still at work. They were " +
      "brought in, and what was checked is sound.";
    log.warn({ log_bytes: database.logBytesFound, checked_in_ms: checkedInMs, reason }, "database.recovered");
  }
  log.info({ url: listening, integrations_enabled: config.integrationsEnabled }, "server.started");
  return {
    url: listening,
    lost: files.lost,
    async stop() {
      files.stopWatching();
      // Together: a client that is slow to let go must not keep the worker beginning new deliveries.
      await Promise.all([server.stop(), deliveries?.stop(), retention.stop()]);
      lock[Symbol.dispose]();
      log.info("server.stopped");
    },
  };
}

/**
 * Checks what can be checked in bounded time before anybody is answered, and returns how long it took.
 * @throws DomainError `data_damaged`.
 */
function checkDatabase({ read }: Database, dataDir: string): number {
  const startedAt = performance.now();
  const damage = findDamage(read.$client);
  if (damage !== undefined) throw dataDamaged(dataDir, damage);
  return Math.round(performance.now() - startedAt);
}

/** Looks at the files from time to time; what is found is also found by whoever writes. */
function watchFiles({ files }: Database, lockPath: string) {
  const { promise: lost, resolve } = Promise.withResolvers<Loss>();
  files.onLost(resolve);
  files.add(lockPath);
  const looking = setInterval(() => void files.lookUntilCertain(), lookEveryMs);
  return { lost, stopWatching: () => clearInterval(looking) };
}

/** What delivers the queue, beside the requests; until it begins it only listens for work. */
function prepareDeliveries(
  { config, dataDir, database, log }: AppParts,
  parts: { vault: Vault; outgoing: Outgoing; places: Places },
) {
  const worker = new Worker({
    database,
    log,
    ...parts,
    rules: {
      maxAttempts: config.webhooksMaxAttempts,
      backoffBaseMs: config.webhooksBackoffBase * 1000,
      disableAfter: config.webhooksDisableAfter,
    },
  });
  const fanOutLoop = new FanOutLoop(database, log);
  const wakeAll = async () => {
    fanOutLoop.wake();
    await worker.wakeAll();
  };
  const stopWatching = watchForWork(dataDir, () => void wakeAll());
  return {
    // What was under way when the last server ended is still queued, and goes out at once.
    begin: wakeAll,
    async stop() {
      stopWatching();
      await Promise.all([worker.stop(), fanOutLoop.stop()]);
    },
  };
}

/** How the address that the server listens on is called from this machine. */
function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::" || host === "127.0.0.1") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
