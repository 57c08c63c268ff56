import { existsSync } from "node:fs";
import { type Config, type Environment, readConfig } from "../config.ts";
import { DomainError } from "../errors.ts";
import type { Connection } from "../database/database.ts";
import { findServer } from "../database/server-note.ts";
import { explainDataError } from "../system/data-errors.ts";
import { checkClock } from "./clock.ts";
import { checkIntegrity, checkLogSize, checkMigrations, checkSqlite, openForChecks } from "./database.ts";
import { checkFileSystem, checkFlush, checkSpace } from "./disk.ts";
import { type Finding, failed, type Patient, reasonOf } from "./finding.ts";
import { checkFolder, checkPermissions } from "./folder.ts";
import { checkBaseUrl, checkNames, checkPort } from "./network.ts";
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
  const check = async (name: string, find: () => Finding[] | Promise<Finding[]>) => {
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
  const isUsable = !(await check("data folder", () => checkFolder(patient))).includes("failed");
  const server = serverOf(dataDir);
  if (isUsable) {
    await check("permissions", () => checkPermissions(patient));
    await check("file system", () => checkFileSystem(patient));
    await check("flush", () => checkFlush(patient));
    await check("disk space", () => checkSpace(patient));
  }
  // Everything else about a folder that is not there would say the same.
  if (!existsSync(dataDir)) return findings;
  using opened = openForChecks(patient);
  let readable: Connection | undefined;
  if ("finding" in opened) findings.push(opened.finding);
  else {
    const { connection, file } = opened;
    await check("SQLite", () => checkSqlite(file));
    const [migrated] = await check("migrations", () => checkMigrations(file));
    const [integrity] = await check("integrity", () => checkIntegrity(patient, opened, isFull));
    await check("write-ahead log", () => checkLogSize(patient));
    // Queries for the tables of this version fail on others, and on damaged ones.
    if (migrated === "ok" && integrity === "ok" && !opened.isOutdated()) readable = connection;
  }
  await check("key", () => checkKey(patient, readable));
  await check("clock", () => checkClock(readable));
  await check("server", () => checkPort(patient, server));
  await check("base URL", () => checkBaseUrl(patient, server.isRunning));
  await check("DNS", () => checkNames(patient, readable));
  return findings;
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
