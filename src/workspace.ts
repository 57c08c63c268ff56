import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { channelResource } from "./channels/channels.ts";
import type { Channel } from "./channels/schemas.ts";
import { type Database, openDatabase } from "./database/open.ts";
import { DomainError } from "./errors.ts";
import { createKeyFile } from "./secrets/key.ts";
import { createTeam, listTeams, type Team } from "./teams/teams.ts";
import { type Person, personResource } from "./users/users.ts";

/** Whether the data folder holds a workspace. */
export function hasWorkspace(dataDir: string): boolean {
  return existsSync(databaseFile(dataDir));
}

/**
 * Opens the workspace in the data folder, its tables brought up to what this binary needs.
 * @throws DomainError `not_found` when the folder holds none; `forbidden` when this login may not use it; `invalid`
 *   when its file is not a database; `data_too_new` when a newer binary has used it.
 */
export function openWorkspace(dataDir: string): Database {
  if (!hasWorkspace(dataDir)) {
    throw new DomainError(
      "not_found",
      `There is no workspace in ${dataDir}. Make one with: parley init --team NAME --owner NAME`,
    );
  }
  return open(dataDir);
}

/**
 * Makes a workspace in the data folder: the folder itself, for its owner alone, the key file, and in one write the
 * first team with its owner and `#general`.
 * @throws DomainError `conflict` when there is a team already; `invalid` on `name`, the team's or the owner's.
 */
export async function initWorkspace(
  dataDir: string,
  input: { team: string; owner: string },
  actor: string,
): Promise<{ team: Team; owner: Person; channel: Channel }> {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    createKeyFile(dataDir);
    // SQLite gives its other files the mode of this one; in a folder that others may enter, it must not be theirs.
    closeSync(openSync(databaseFile(dataDir), "a", 0o600));
  } catch (error) {
    throw explain(error, dataDir);
  }
  const database = open(dataDir);
  try {
    return await database.write(async (tx) => {
      const [existing] = await listTeams(tx);
      if (existing) {
        throw new DomainError(
          "conflict",
          `There is a workspace in ${dataDir} already. Add a team to it with: parley teams create --name NAME`,
        );
      }
      const { team, owner, general } = await createTeam(tx, { name: input.team, owner: input.owner }, actor);
      return { team, owner: personResource(owner), channel: channelResource(general) };
    });
  } finally {
    await database.close();
  }
}

function open(dataDir: string): Database {
  try {
    return openDatabase(databaseFile(dataDir));
  } catch (error) {
    throw explain(error, dataDir);
  }
}

function explain(error: unknown, dataDir: string): unknown {
  if (!(error instanceof Error && "code" in error)) return error;
  switch (error.code) {
    case "EACCES":
    case "EPERM":
    case "EROFS":
    case "SQLITE_CANTOPEN":
    case "SQLITE_READONLY":
      return new DomainError("forbidden", `The data folder ${dataDir} cannot be written with this login.`);
    case "EEXIST":
    case "ENOTDIR":
      return new DomainError("invalid", `${dataDir} is not a folder.`);
    case "SQLITE_NOTADB":
      return new DomainError("invalid", `${databaseFile(dataDir)} is not a database of parley.`);
    case "SQLITE_BUSY":
      return new DomainError("busy", "Another process kept the database locked; try again in a moment.");
    default:
      return error;
  }
}

function databaseFile(dataDir: string): string {
  return join(dataDir, "parley.db");
}
