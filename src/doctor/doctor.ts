import { existsSync } from "node:fs";
import { type Config, type Environment, readConfig, readSetting } from "../config.ts";
import { DomainError } from "../errors.ts";
import type { Database } from "../database/database.ts";
import { openConnections } from "../database/postgres/connections.ts";
import { databaseOfSettings, moveState } from "../database/postgres/here.ts";
import { openPostgres } from "../database/postgres/open.ts";
import { type ServerState, serverState } from "../database/postgres/server-state.ts";
import { type MoveState, moveStateOf, notHere } from "../database/move-state.ts";
import { findServer } from "../database/server-note.ts";
import { parseDatabaseUrl } from "../input/database-url.ts";
import { selectNodes } from "../nodes/store.ts";
import { explainDataError } from "../system/data-errors.ts";
import { checkAlerts } from "./alerts.ts";
import { checkClock } from "./clock.ts";
import { checkIntegrity, checkLogSize, checkMigrations, checkSqlite, openForChecks } from "./database.ts";
import { checkFileSystem, checkFlush, checkSpace } from "./disk.ts";
import { type Finding, failed, type Patient, reasonOf, skipped } from "./finding.ts";
import { checkFolder, checkPermissions } from "./folder.ts";
import { checkBaseUrl, checkNames, checkPort } from "./network.ts";
import {
  checkAnswer,
  checkDurability,
  checkPostgresMigrations,
  checkRole,
  checkStandbys,
  checkTls,
  judgeConnections,
  judgeNodes,
} from "./postgres.ts";
import { checkKey } from "./secrets.ts";
import { checkSettings } from "./settings.ts";

/**
 * Runs every check on the data folder and on what surrounds it, one after the other; a check that cannot be made is a
 * finding too. Changes nothing but for a file without a name that is flushed a few times. `isFull` reads the whole
 * database. `onCheck` is called with the name of each check before it begins.
 */
export async function examine(
  { dataDir, environment, isFull }: { dataDir: string; environment: Environment; isFull: boolean },
  onCheck: (name: string) => void = () => {},
): Promise<Finding[]> {
  const patient: Patient = { dataDir, environment, config: configOf(dataDir, environment) };
  const findings: Finding[] = [];
  const check: Check = async (name, find) => {
    onCheck(name);
    try {
      const found = await find();
      findings.push(...found);
      return found.map(({ state }) => state);
    } catch (error) {
      findings.push(failed(name, reasonOf(explainDataError(error, dataDir))));
      return ["failed"];
    }
  };

  await check("settings", () => checkSettings(patient));
  const databaseUrl = databaseUrlOf(patient);
  const [folder] = await check("data folder", () => checkFolder(patient, databaseUrl === ""));
  const server = serverOf(dataDir);
  if (folder !== "failed") {
    await check("permissions", () => checkPermissions(patient));
    // On PostgreSQL the folder has only the key, and small files that may be lost.
    if (databaseUrl === "") {
      await check("file system", () => checkFileSystem(patient));
      await check("flush", () => checkFlush(patient));
    }
    await check("disk space", () => checkSpace(patient));
  }
  // Everything else about a folder that is not there would say the same.
  if (!existsSync(dataDir) && databaseUrl === "") return findings;
  await using opened = new AsyncDisposableStack();
  let ask: Database["ask"] | undefined;
  if (databaseUrl === "") ask = await examineFile(patient, { check, findings, isFull, opened });
  else if (databaseUrl !== undefined) {
    // A connection that is lost in between fails a check, too.
    await check("database", async () => {
      ask = await examinePostgres(databaseUrl, { check, isFull, opened });
      return [];
    });
  }
  if (existsSync(dataDir)) await check("key", () => checkKey(patient, ask));
  await check("clock", () => checkClock(ask));
  await check("server", () => checkPort(patient, server));
  await check("base URL", () => checkBaseUrl(patient, server.isRunning));
  await check("DNS", () => checkNames(patient, ask));
  await check("alerts", () => checkAlerts(ask));
  return findings;
}

type Check = (name: string, find: () => Finding[] | Promise<Finding[]>) => Promise<Array<Finding["state"]>>;

/** Checks the database in the data folder. Returns what reads it, if queries for the tables of this version work. */
async function examineFile(
  patient: Patient,
  {
    check,
    findings,
    isFull,
    opened,
  }: { check: Check; findings: Finding[]; isFull: boolean; opened: AsyncDisposableStack },
): Promise<Database["ask"] | undefined> {
  const look = opened.use(openForChecks(patient));
  if ("finding" in look) {
    findings.push(look.finding);
    return undefined;
  }
  const { connection, file } = look;
  await check("SQLite", () => checkSqlite(file));
  const [migrated] = await check("migrations", () => checkMigrations(file));
  if (migrated === "ok") await check("workspace", () => checkWhereabouts(moveStateOf(file), patient.dataDir));
  const [integrity] = await check("integrity", () => checkIntegrity(patient, look, isFull));
  await check("write-ahead log", () => checkLogSize(patient));
  // Such queries fail on other tables, and on damaged ones.
  if (migrated !== "ok" || integrity !== "ok" || look.isOutdated()) return undefined;
  return (question) => question(connection);
}

/** Finds nothing, unless the workspace has left for another place, or only part of it is here. */
function checkWhereabouts(state: MoveState | undefined, here: string): Finding[] {
  return state ? [failed("workspace", notHere(state, here).message)] : [];
}

/** Checks the database of the URL. Returns as `examineFile` does. */
async function examinePostgres(
  databaseUrl: string,
  { check, isFull, opened }: { check: Check; isFull: boolean; opened: AsyncDisposableStack },
): Promise<Database["ask"] | undefined> {
  const url = parseDatabaseUrl(databaseUrl);
  // The settings say so already.
  if ("problem" in url) return undefined;
  await check("TLS", () => checkTls(url));
  const connections = openConnections(databaseUrl, { max: 2 });
  opened.defer(() => connections.close());
  if ((await check("database", () => checkAnswer(connections, url))).includes("failed")) return undefined;
  const [migrated] = await check("migrations", () => checkPostgresMigrations(connections));
  const find = async () => checkWhereabouts(await moveState(connections.query), databaseOfSettings);
  if (migrated === "ok" && (await check("workspace", find)).includes("failed")) return undefined;
  let state: ServerState | undefined;
  await check("PostgreSQL", async () => {
    state = await serverState(connections);
    return await checkRole(connections, state);
  });
  if (!state) return undefined;
  const { standbys } = state;
  await check("durability", () => checkDurability(connections));
  await check("standbys", () => checkStandbys(connections, standbys));
  if (isFull) await check("integrity", () => [skipped("integrity", amcheck)]);
  if (migrated !== "ok") return undefined;
  const nodes = await selectNodes(connections);
  await check("nodes", () => judgeNodes(nodes));
  const used = state.connections;
  await check("connections", () => judgeConnections(used, nodes.length));
  const database = await openPostgres(databaseUrl, { mayBeNew: false });
  opened.defer(() => database.close());
  return (question) => database.ask(question);
}

const amcheck = "PostgreSQL checks its files itself: pg_amcheck reads everything";

/** The URL of the PostgreSQL, empty where the data is in the folder; undefined for one that cannot be read. */
function databaseUrlOf({ dataDir, environment, config }: Patient): string | undefined {
  try {
    return (config ?? readSetting("databaseUrl", dataDir, environment)).databaseUrl;
  } catch (error) {
    if (error instanceof DomainError) return undefined;
    throw error;
  }
}

function configOf(dataDir: string, environment: Environment): Config | undefined {
  try {
    return readConfig(dataDir, environment);
  } catch (error) {
    if (error instanceof DomainError) return undefined;
    throw error;
  }
}

/** A folder that cannot be read is another check's finding. */
function serverOf(dataDir: string): ReturnType<typeof findServer> {
  try {
    return findServer(dataDir);
  } catch {
    return { isRunning: false, note: undefined };
  }
}
