import { listPeople } from "../accounts/people.ts";
import { listAllChannels } from "../channels/channels.ts";
import { openDataFolder } from "../data-folder.ts";
import { listTeams } from "../teams/teams.ts";
import { createToken } from "../tokens/tokens.ts";
import { selectUser } from "../users/store.ts";

/** How many teams a trial reads. */
const teamsMax = 3;

/** Something that a trial reads: the messages of a team's general channel, with a token that exists only in the copy. */
export type Reading = { team: string; channelId: string; token: string };

/**
 * Makes a copy of a workspace fit to be served for a trial: it sends nothing, makes no backups, and has a token with
 * which messages can be read. Migrates the copy to this version.
 * @throws what `openDataFolder` throws.
 */
export async function makeHarmless(dataDir: string): Promise<{ teams: number; readings: Reading[] }> {
  const database = openDataFolder(dataDir);
  try {
    const teams = await database.ask(listTeams);
    const readings: Reading[] = [];
    await database.write((tx) => {
      for (const table of ["jobs", "fan_outs", "backup_schedule"])
        tx.$client.prepare(`DELETE FROM ${table}`).run();
    });
    for (const { id, name } of teams.slice(0, teamsMax)) {
      const { user, general } = await database.ask(async (db) => {
        const reader = (await listPeople(db, id)).find(({ active }) => active);
        const general = (await listAllChannels(db, id)).find(({ is_general }) => is_general);
        return { user: reader && (await selectUser(db, id, reader.id)), general };
      });
      if (!user || !general) continue;
      const input = { name: "trial", scopes: ["messages:read" as const], expiresAt: null };
      const { token } = await database.write((tx) => createToken(tx, user, input, "parley"));
      readings.push({ team: name, channelId: general.id, token });
    }
    return { teams: teams.length, readings };
  } finally {
    await database.close();
  }
}
