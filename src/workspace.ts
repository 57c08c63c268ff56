import { channelResource } from "./channels/channels.ts";
import type { Channel } from "./channels/schemas.ts";
import { hasWorkspaceIn, initDataFolder, type OpenOptions, openDataFolder } from "./data-folder.ts";
import type { Database } from "./database/database.ts";
import { openPostgres } from "./database/postgres/open.ts";
import { DomainError } from "./errors.ts";
import { parseDatabaseUrl, shownDatabase } from "./input/database-url.ts";
import { signalWork } from "./outbox/signal.ts";
import { createKeyFile } from "./secrets/key-file.ts";
import { explainDataError } from "./system/data-errors.ts";
import { makeFolder } from "./system/on-disk.ts";
import { createTeam, listTeams, type Team } from "./teams/teams.ts";
import { type Person, personResource } from "./users/users.ts";

/** Where a workspace is: in the data folder, or in the PostgreSQL database of the URL, beside a folder with the key. */
export type Place = {
  dataDir: string;
  /** Empty where the database is a file in the folder. */
  databaseUrl: string;
};

/** The place in words; nothing of it is secret. */
export function shownPlace({ dataDir, databaseUrl }: Place): string {
  const parsed = databaseUrl === "" ? undefined : parseDatabaseUrl(databaseUrl);
  if (!parsed || "problem" in parsed) return dataDir;
  return `the database ${shownDatabase(parsed)}, with its key in ${dataDir}`;
}

/**
 * Whether there is a workspace, which means at least one team: a rejected `init` leaves a database without one.
 * @throws what `openWorkspace` throws for an unusable folder or database.
 */
export async function hasWorkspace({ dataDir, databaseUrl }: Place): Promise<boolean> {
  if (databaseUrl === "") return await hasWorkspaceIn(dataDir);
  const database = await openPostgres(databaseUrl);
  try {
    return (await database.ask(listTeams)).length > 0;
  } finally {
    await database.close();
  }
}

/**
 * Opens the workspace and applies missing migrations; see `openDataFolder` and `openPostgres`.
 * @throws DomainError `not_found` when there is none; what those throw.
 */
export async function openWorkspace(
  { dataDir, databaseUrl }: Place,
  options: OpenOptions = {},
): Promise<Database> {
  if (databaseUrl === "") return openDataFolder(dataDir, options);
  return await openPostgres(databaseUrl, { ...options, mayBeNew: false });
}

/**
 * Creates a workspace: the data folder, for its owner alone; in one write the first team with its owner and `#general`;
 * the key file; and the signal file.
 * @throws DomainError `conflict` when there is already a team, without changing anything; `invalid` on `name`, the
 *   team's or the owner's; what `initDataFolder` and `openPostgres` throw.
 */
export async function initWorkspace(
  place: Place,
  input: { team: string; owner: string },
  actor: string,
): Promise<{ team: Team; owner: Person; channel: Channel }> {
  const { dataDir, databaseUrl } = place;
  if (databaseUrl === "")
    return await initDataFolder(dataDir, (database) => makeFirstTeam(place, database, input, actor));
  const database = await openPostgres(databaseUrl);
  try {
    try {
      makeFolder(dataDir);
    } catch (error) {
      throw explainDataError(error, dataDir);
    }
    return await makeFirstTeam(place, database, input, actor);
  } finally {
    await database.close();
  }
}

async function makeFirstTeam(
  { dataDir, databaseUrl }: Place,
  database: Database,
  input: { team: string; owner: string },
  actor: string,
): Promise<{ team: Team; owner: Person; channel: Channel }> {
  return await database.write(async (tx) => {
    const [existing] = await listTeams(tx);
    if (existing) {
      const where = databaseUrl === "" ? dataDir : "the database of PARLEY_DATABASE_URL";
      throw new DomainError(
        "conflict",
        `There is already a workspace in ${where}. Add a team to it with: parley teams create --name NAME`,
      );
    }
    const { team, owner, general } = await createTeam(tx, { name: input.team, owner: input.owner }, actor);
    // Inside the write, so that a rejected call changes nothing and no team is left without a key.
    createKeyFile(dataDir);
    // Created now, so that it belongs to the folder's owner and not to another login that signals first.
    signalWork(dataDir);
    return { team, owner: personResource(owner), channel: channelResource(general) };
  });
}
