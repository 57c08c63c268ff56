import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { channelResource } from "./channels/channels.ts";
import type { Channel } from "./channels/schemas.ts";
import type { WebhooksVisibility } from "./config.ts";
import { explainDataError } from "./system/data-errors.ts";
import { requireOwnLog } from "./database/log-number.ts";
import type { Database } from "./database/database.ts";
import { openDatabase } from "./database/open.ts";
import { holdServerLock } from "./database/server-lock.ts";
import { DomainError } from "./errors.ts";
import { signalWork } from "./outbox/signal.ts";
import { makeFolder, touchFile } from "./system/on-disk.ts";
import { createKeyFile, keyFile } from "./secrets/key.ts";
import { createTeam, listTeams, type Team } from "./teams/teams.ts";
import { requireNoLink } from "./system/trusted-files.ts";
import { type Person, personResource } from "./users/users.ts";

/** How long a process waits for another one that changes the tables at the same moment, in milliseconds. */
const migrationWaitMs = 5_000;

/**
 * Whether the data folder holds a workspace, which is one team at least: what an `init` that was refused leaves is none.
 * @throws what `openWorkspace` throws for a folder that cannot be used.
 */
export async function hasWorkspace(dataDir: string): Promise<boolean> {
  requireDatabase(dataDir);
  if (!existsSync(databaseFile(dataDir))) return false;
  const database = open(dataDir);
  try {
    return (await listTeams(database.read)).length > 0;
  } finally {
    await database.close();
  }
}

/**
 * Opens the workspace in the data folder, its tables brought up to what this binary needs. Events are queued and sent by
 * `webhooksVisibility`, which is `workspace` unless it is given.
 * @throws DomainError `not_found` when the folder holds none; `forbidden` when this login may not use it; `invalid`
 *   when its file is not a database; `data_damaged` when the file is gone, or the log beside it is another one's;
 *   `data_too_new` when a newer binary has used it; `conflict` when an older one serves it, whose tables would change
 *   under it.
 */
export function openWorkspace(dataDir: string, webhooksVisibility?: WebhooksVisibility): Database {
  requireDatabase(dataDir);
  if (!existsSync(databaseFile(dataDir))) {
    throw new DomainError(
      "not_found",
      `There is no workspace in ${dataDir}. Make one with: parley init --team NAME --owner NAME`,
    );
  }
  return open(dataDir, webhooksVisibility);
}

/**
 * Makes a workspace in the data folder: the folder itself, for its owner alone, and in one write the first team with its
 * owner and `#general`, the key file and the file of signals.
 * @throws DomainError `conflict` when there is a team already, and changes nothing then; `invalid` on `name`, the team's
 *   or the owner's; `forbidden`, `invalid`, `unwritable` or `busy` when the folder cannot be used; `data_damaged` when there was a
 *   workspace whose database is gone.
 */
export async function initWorkspace(
  dataDir: string,
  input: { team: string; owner: string },
  actor: string,
): Promise<{ team: Team; owner: Person; channel: Channel }> {
  requireDatabase(dataDir);
  try {
    makeFolder(dataDir);
    // SQLite gives its other files the mode of this one; in a folder that others may enter, it must not be theirs.
    touchFile(databaseFile(dataDir));
  } catch (error) {
    throw explainDataError(error, dataDir);
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
      // Inside the write: whoever is refused has touched nothing, and no team is left without its key.
      createKeyFile(dataDir);
      // Made with the folder it is its owner's, and not that of another login which happens to signal first.
      signalWork(dataDir);
      return { team, owner: personResource(owner), channel: channelResource(general) };
    });
  } catch (error) {
    throw explainDataError(error, dataDir);
  } finally {
    await database.close();
  }
}

/** @throws DomainError `invalid` for a symbolic link; `data_damaged` when there is no database any more where there was one. */
function requireDatabase(dataDir: string): void {
  for (const ending of ["", "-wal", "-shm", "-journal"]) requireNoLink(`${databaseFile(dataDir)}${ending}`);
  // In this order, since an `init` at the same moment makes the key after the database.
  const isKeyThere = existsSync(keyFile(dataDir));
  const isThere = existsSync(databaseFile(dataDir));
  if (!isKeyThere || (isThere && statSync(databaseFile(dataDir)).size > 0)) return;
  throw new DomainError(
    "data_damaged",
    `${databaseFile(dataDir)} is ${isThere ? "empty" : "missing"}, but ${keyFile(dataDir)} says that there was a workspace. ` +
      "Put parley.db back from a copy; or, to begin anew, move secret.key away and run parley init.",
  );
}

function open(dataDir: string, webhooksVisibility?: WebhooksVisibility): Database {
  try {
    requireOwnLog(databaseFile(dataDir));
    return openDatabase(databaseFile(dataDir), {
      holdToMigrate: () => holdServerLock(dataDir, migrationWaitMs),
      ...(webhooksVisibility && { webhooksVisibility }),
    });
  } catch (error) {
    throw explainDataError(error, dataDir);
  }
}

function databaseFile(dataDir: string): string {
  return join(dataDir, "parley.db");
}
