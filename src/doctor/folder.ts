import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { keyFile } from "../secrets/key-file.ts";
import { loginNameOf } from "../system/libc.ts";
import { explainDataError } from "../system/data-errors.ts";
import { findExposed } from "../system/trusted-files.ts";
import { type Finding, failed, ok, type Patient, reasonOf, warning } from "./finding.ts";

/** The files that every process must be able to write. */
const written = ["parley.db", "parley.db-wal", "parley.db-shm", "server.lock", "queue.signal"];

/** Checks that this login can use the data folder and its files. Without the database it has the key. */
export function checkFolder({ dataDir }: Patient, hasDatabase: boolean): Finding[] {
  const check = "data folder";
  const folder = statSync(dataDir, { throwIfNoEntry: false });
  if (!folder) {
    return [
      failed(
        check,
        `There is no ${dataDir}.`,
        hasDatabase
          ? "Create a workspace with parley init --team NAME --owner NAME, or name the right folder with --data-dir DIR."
          : "Make it, and copy secret.key there from the data folder of another server of this workspace.",
      ),
    ];
  }
  try {
    readdirSync(dataDir);
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    for (const name of written) {
      const path = join(dataDir, name);
      if (statSync(path, { throwIfNoEntry: false })) accessSync(path, constants.R_OK | constants.W_OK);
    }
  } catch (error) {
    return [failed(check, reasonOf(explainDataError(error, dataDir)))];
  }
  const login = process.geteuid?.();
  if (login !== undefined && login !== folder.uid) {
    const owner = loginNameOf(folder.uid) ?? String(folder.uid);
    return [
      warning(
        check,
        `It belongs to ${owner}, and this is ${loginNameOf(login) ?? login}: files that a command makes here may be closed to the server.`,
        `Run parley as ${owner}: sudo -u ${owner} parley …`,
      ),
    ];
  }
  return [ok(check, dataDir)];
}

/** Warns of files that other logins can read or change. */
export function checkPermissions({ dataDir }: Patient): Finding[] {
  const exposed = findExposed(dataDir, keyFile(dataDir));
  if (exposed.length === 0) return [ok("permissions", "closed to other logins")];
  return exposed.map(({ reason }) => warning("permissions", reason));
}
