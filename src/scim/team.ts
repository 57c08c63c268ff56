import type { Connection } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import { listTeams, type Team } from "../teams/teams.ts";

/**
 * Finds the team that the directory manages: the one that `SCIM_TEAM` gives by slug, name or id, or the only team when
 * it is empty. Returns undefined while there is no team.
 * @throws DomainError `invalid` when it names no team or is ambiguous.
 */
export async function findDirectoryTeam(db: Connection, name: string): Promise<Team | undefined> {
  const teams = await listTeams(db);
  const isNamed = (team: Team) => [team.slug, team.name, team.id].includes(name);
  const matching = name === "" ? teams : teams.filter(isNamed);
  if (matching.length === 1 || teams.length === 0) return matching[0];
  const slugs = teams.map(({ slug }) => slug).join(", ");
  throw new DomainError(
    "invalid",
    `SCIM_TEAM is ${JSON.stringify(name)}; while SCIM_TOKEN is set, it must be one of the teams: ${slugs}.`,
  );
}
