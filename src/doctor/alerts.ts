import { alertPlaceOf } from "../alerts/alerts.ts";
import type { Database } from "../database/database.ts";
import { listTeams } from "../teams/teams.ts";
import { type Finding, ok, warning } from "./finding.ts";

const command = "parley teams notify --channel CHANNEL";

/** Checks that each team that wants to be told of trouble can be. To be told nothing is no fault. Says nothing without data. */
export async function checkAlerts(ask: Database["ask"] | undefined): Promise<Finding[]> {
  if (!ask) return [];
  const check = "alerts";
  return await ask(async (db) => {
    const problems: Finding[] = [];
    const told: string[] = [];
    for (const { id, slug } of await listTeams(db)) {
      const place = await alertPlaceOf(db, id);
      if (place?.problem === null) told.push(slug);
      else if (place)
        problems.push(warning(check, `The team ${slug} is told nothing: ${place.problem}.`, command));
    }
    if (problems.length > 0) return problems;
    return [ok(check, told.length > 0 ? `told to ${told.join(", ")}` : `off; to be told: ${command}`)];
  });
}
