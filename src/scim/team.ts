import type { Connection } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import { listTeams, type Team } from "../teams/teams.ts";

/**
 * The team whose directory is connected: the one that `SCIM_TEAM` names by slug, name or id; without it the only one
 * there is. Undefined while there is none.
 * @throws DomainError `invalid` when it names none, or several could be meant.
 */
export async function findDirectoryTeam(db: Connection, name: string): Promise<Team | undefined> {
  const teams = await listTeams(db);
  const isNamed = (team: Team) => [team.slug, team.name, team.id].includes(name);
  const meant = name === "" ? teams : teams.filter(isNamed);
  if (meant.length === 1 || teams.length === 0) return meant[0];
  const slugs = teams.map(({ slug }) => slug).join(", ");
  throw new DomainError(
    "invalid",
    `SCIM_TEAM is ${JSON.stringify(name)}; while SCIM_TOKEN is set it takes one of the teams: ${slugs}.`,
  );
}
