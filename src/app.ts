import { type Config, processEnvironment, requestsAllowed, secretFiles } from "./config.ts";
import type { DomainError } from "./errors.ts";
import { sharedDatabase } from "./database/postgres/open.ts";
import { requireStandby } from "./database/postgres/standby-wait.ts";
import type { Database, DatabaseFile } from "./database/database.ts";
import { checkDatabase } from "./database/check-at-start.ts";
import type { Loss } from "./database/watched-files.ts";
import { AlertWatch } from "./alerts/alert-watch.ts";
import { ScheduledBackups } from "./backup/scheduled-backups.ts";
import { holdServerLock, serverLockWaitMs } from "./database/server-lock.ts";
import { DeliveryHold, holdOf } from "./deliveries/hold.ts";
import { Feed } from "./feed/feed.ts";
import { outgoingOf } from "./deliveries/outgoing.ts";
import { placesFor } from "./deliveries/places.ts";
import { QueueSurvey } from "./deliveries/queue-survey.ts";
import { Retention } from "./deliveries/retention.ts";
import { type Deliveries, prepareDeliveries } from "./deliveries/start.ts";
import { makeFolder } from "./system/on-disk.ts";
import { DescriptorReserve, descriptorShares } from "./system/descriptors.ts";
import { allRoutes } from "./all-routes.ts";
import { authentication } from "./http/authentication.ts";
import type { Listener } from "./http/listener.ts";
import { RateLimit } from "./http/rate-limit.ts";
import { startServer } from "./http/server.ts";
import { SharedRateLimit } from "./http/shared-rate-limit.ts";
import { Node } from "./nodes/node.ts";
import type { NodeListener } from "./nodes/node-listener.ts";
import { TrustedProxies } from "./http/trusted-proxies.ts";
import { WrongCredentials } from "./http/wrong-credentials.ts";
import { forgetServer, noteServer } from "./database/server-note.ts";
import { Readiness } from "./health/readiness.ts";
import { parseListenAddress } from "./input/listen-address.ts";
import type { Metrics } from "./metrics/start.ts";
import type { StateSources } from "./metrics/state.ts";
import { startLazyParts } from "./system/lazy-parts.ts";
import type { Log } from "./log/log.ts";
import { whyTooShort } from "./scim/credential.ts";
import { findDirectoryTeam } from "./scim/team.ts";
import { keyFile } from "./secrets/key-file.ts";
import { openVault } from "./key-rotation/server-key.ts";
import { findUnreadableSecrets } from "./unreadable-secrets.ts";
import type { Tracing } from "./tracing/tracing.ts";
import { selectKeyRotation } from "./secrets/store.ts";
import { findExposed, findExposedSecrets } from "./system/trusted-files.ts";
import { timestamp } from "./timestamp.ts";
import { version } from "./version.ts";

/** How often the files of the data folder are checked, in milliseconds. */
const checkIntervalMs = 1_000;

/** How long a stop waits for the collector to take the last spans, in milliseconds. */
const tracesWaitMs = 2_000;

/** What a node without deliveries does when there is work. */
const noDeliveries = { onWork() {}, onAnyWork() {}, onLook() {} };

/** A running server. */
export type RunningApp = {
  /** The URL that the server listens on, with the actual port. */
  url: string;
  /** Resolves when a file of the data folder is found to be replaced or removed. Nothing is written from then on. */
  lost: Promise<Loss>;
  /** Resolves when a newer version has changed the tables of a shared database meanwhile. */
  outdated: Promise<DomainError>;
  /** Stops accepting work, finishes requests and deliveries in flight, then resolves. The database stays open. */
  stop(): Promise<void>;
};

/** What a server is started with. The caller opens and closes the database. */
export type AppParts = {
  config: Config;
  dataDir: string;
  database: Database;
  log: Log;
};

/**
 * Starts everything: the server, deliveries and retention. This is the only place that knows all parts. On failure,
 * everything started is stopped.
 * @throws DomainError `conflict` when another server uses the data folder; `data_damaged` when the database cannot be
 *   read; the operating system's error when the port is taken, or this login may not use a file of the data folder.
 */
export async function startApp({ config, dataDir, database, log }: AppParts): Promise<RunningApp> {
  await using started = new AsyncDisposableStack();
  // On PostgreSQL it needs to hold nothing, if the key comes from the settings.
  if (!database.file) makeFolder(dataDir);
  const lock = started.use(holdServerLock(dataDir, serverLockWaitMs));
  const lazyParts = startLazyParts();
  const shared = sharedDatabase(database);
  const node = shared && new Node(shared.connections, log);
  if (shared) await requireStandby(shared.connections);
  const checkedInMs = database.file ? checkDatabase(database.file, dataDir) : 0;
  const vault = await openVault({ database, dataDir, log }, config.secretKey);
  for (const exposed of findExposed(dataDir, keyFile(dataDir))) log.warn(exposed, "data_folder.exposed");
  for (const exposed of findExposedSecrets(secretFiles(dataDir, processEnvironment)))
    log.warn(exposed, "secret_file.exposed");
  database.onTrouble({
    onTrouble: ({ kind, reason }, error) => log.error({ of: kind, reason, err: error }, "database.trouble"),
    onEnd: ({ kind, since }) =>
      log.info({ of: kind, lasted_ms: Date.now() - since }, "database.trouble_over"),
  });
  if (await database.ask(selectKeyRotation)) {
    const reason =
      "A rotation of the key has begun and is not finished. Unless it is running now: parley secrets rotate-key";
    log.warn({ reason }, "secrets.rotation_unfinished");
  }
  const unreadable = await database.ask((db) => findUnreadableSecrets(db, vault));
  if (unreadable) log.error(unreadable, "secrets.unreadable");
  const hold = await DeliveryHold.begin({ database, dataDir, log }, config.baseUrl);
  started.defer(() => hold.close());
  const outgoing = outgoingOf(config);
  const directory = config.scimToken ? { token: config.scimToken, team: config.scimTeam } : undefined;
  // Fail at startup, and not at the first request of a directory.
  if (directory) await database.ask((db) => findDirectoryTeam(db, directory.team));
  const tooShort = directory && whyTooShort(directory.token);
  if (tooShort !== undefined) log.warn({ reason: tooShort }, "scim.token_too_short");

  const tracing = await tracingOf(config, log);
  started.defer(() => tracing?.stop());
  const shares = descriptorShares();
  // Bun makes further requests wait while their timeouts run.
  const requestsAtOnce = Math.min(shares.deliveries, requestsAllowed(processEnvironment) - 16);
  let deliveries: Deliveries | undefined;
  const survey = new QueueSurvey(
    database,
    (id) => node?.owns(id) === false || (deliveries?.worker.isHeldBack(id) ?? true),
  );
  started.defer(() => survey.stop());
  const metrics = await metricsOf(config, { database, dataDir, survey, log });
  started.defer(() => metrics?.stop());
  const feed = new Feed(database, node?.readers);
  started.defer(() => feed.stop());
  if (config.integrationsEnabled) {
    deliveries = await prepareDeliveries(
      { config, dataDir, database, log, node, onSignal: () => feed.wakeAll() },
      {
        tracing,
        vault,
        outgoing,
        places: placesFor(requestsAtOnce),
        hold,
        observeAttempt: metrics?.attempt,
      },
    );
  }
  started.defer(() => deliveries?.stop());
  const readiness = new Readiness({ database, dataDir, survey, deliveries });

  let listening = "";
  let listener: Listener | undefined;
  const counter = (name: string, limit: number) =>
    shared ? new SharedRateLimit(shared, name, limit) : new RateLimit(limit);
  const wrongCredentials = new WrongCredentials(log, (request) => listener?.addressOf(request));
  const root = allRoutes(
    {
      database,
      feed,
      allowSilence: (request, seconds) => listener?.allowSilence(request, seconds),
      vault,
      guard: outgoing.guard,
      log,
      authentication: authentication(database, counter("api", config.apiRateLimit), wrongCredentials),
      ingestRateLimit: counter("ingest", config.ingestRateLimit),
      wrongCredentials,
      readiness,
      maxSubscriptions: config.webhooksMaxSubscriptions,
      baseUrl: () => config.baseUrl || listening,
    },
    config,
    directory,
  );
  await lazyParts;
  // After everything that can fail for lack of a descriptor, so that the server never responds and then fails to
  // start.
  const proxies = config.trustedProxies.length > 0 ? new TrustedProxies(config.trustedProxies) : undefined;
  const observed = { proxies, tracing, observe: metrics?.request };
  const server = startServer(root, log, config, new DescriptorReserve(shares.keptBack), observed);
  listener = server;
  started.defer(() => server.stop());
  listening = `http://${urlHost(config.host)}:${server.port}`;
  await deliveries?.begin();
  const outdated = Promise.withResolvers<DomainError>();
  started.defer(() => node?.leave());
  await node?.join(
    { url: listening, delivers: config.integrationsEnabled },
    nodeListener(deliveries ?? noDeliveries, feed, outdated.resolve),
  );
  if (node) await vault.requireAdopted(database);
  // Retention runs whether or not deliveries are enabled.
  const retention = new Retention(
    database,
    config.webhooksRetentionDays,
    log,
    node && ((work) => node.alone("retention", work)),
  );
  retention.start();
  const backups = new ScheduledBackups({
    database,
    dataDir,
    log,
    // A held server may be a copy that writes to the folder of the original.
    mayPrune: async () => (await database.ask(holdOf)) === undefined,
  });
  backups.start();
  const alerts = new AlertWatch({ database, dataDir, log });
  alerts.start();
  const files = watchFiles(database.file, lock.path);
  noteServer(dataDir, { url: listening, pid: process.pid, version, started_at: timestamp(Date.now()) });
  // Startup succeeded; the caller now owns shutdown.
  started.move();
  const logBytes = database.file?.logBytesFound ?? 0;
  if (logBytes > 0) {
    const reason =
      "parley.db-wal contained changes: the last server or command did not exit cleanly, or one is still running. " +
      "The changes were applied, and everything that was checked is sound.";
    log.warn({ log_bytes: logBytes, checked_in_ms: checkedInMs, reason }, "database.recovered");
  }
  log.info({ url: listening, integrations_enabled: config.integrationsEnabled }, "server.started");
  return {
    url: listening,
    lost: files.lost,
    outdated: outdated.promise,
    async stop() {
      readiness.drain();
      feed.stop();
      files.stopWatching();
      // Concurrently: a slow client must not let the worker start new deliveries.
      survey.stop();
      await Promise.all([server.stop(), deliveries?.stop(), retention.stop(), backups.stop(), alerts.stop()]);
      await node?.leave();
      await metrics?.stop();
      forgetServer(dataDir);
      await tracing?.stop();
      hold.close();
      lock[Symbol.dispose]();
      log.info("server.stopped");
    },
  };
}

/** What the node tells is for deliveries, and for those who read events by themselves. */
function nodeListener(
  deliveries: Pick<Deliveries, "onWork" | "onAnyWork" | "onLook">,
  feed: Feed,
  onTooOld: NodeListener["onTooOld"],
): NodeListener {
  return {
    onWork: (keys) => deliveries.onWork(keys),
    onWorkAnywhere: (keys) => feed.wake(keys),
    onAnyWork() {
      deliveries.onAnyWork();
      feed.wakeAll();
    },
    onLook: () => deliveries.onLook(),
    onTooOld,
  };
}

/** Loads the libraries only where traces are on. */
async function tracingOf({ otlpEndpoint }: Config, log: Log): Promise<Tracing | undefined> {
  if (otlpEndpoint === "") return undefined;
  const { startTracing } = await import("./tracing/start.ts");
  return startTracing(otlpEndpoint, { log, stopMaxMs: tracesWaitMs });
}

/** Starts the metrics if they have an address. Their library is loaded only then. */
async function metricsOf(
  { metricsAddress }: Config,
  sources: StateSources & { database: Database; log: Log },
): Promise<Metrics | undefined> {
  const address = parseListenAddress(metricsAddress);
  if (!address) return undefined;
  const { startMetrics } = await import("./metrics/start.ts");
  const metrics = await startMetrics(address, sources);
  sources.database.observeCommits(metrics.commit);
  sources.log.info({ url: metrics.url }, "metrics.started");
  return metrics;
}

/** Checks the files periodically; writes also notice a loss. Data that is in no file of ours cannot be lost that way. */
function watchFiles(file: DatabaseFile | undefined, lockPath: string) {
  const { promise: lost, resolve } = Promise.withResolvers<Loss>();
  file?.watched.onLost(resolve);
  file?.watched.add(lockPath);
  const timer = file && setInterval(() => void file.watched.lookUntilCertain(), checkIntervalMs);
  return { lost, stopWatching: () => clearInterval(timer) };
}

/** The host of a URL that reaches the server from this machine. */
function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::" || host === "127.0.0.1") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
