import { record } from "../audit/audit.ts";
import { addChannel } from "../channels/channels.ts";
import type { ChannelRow } from "../channels/store.ts";
import type { Connection, Transaction } from "../database/database.ts";
import { DomainError, invalid } from "../errors.ts";
import { checkName } from "../input/name.ts";
import { theOnly, theOnlyWithId } from "../input/reference.ts";
import { slugOf } from "../input/text.ts";
import type { UserRow } from "../users/store.ts";
import { createPerson } from "../accounts/people.ts";
import { insertTeam, selectTeams, selectTeamsNamed, type TeamRow, updateTeamName } from "./store.ts";
import { newId, now } from "../system/repeatable.ts";

/** A team, which the API calls a workspace, as the command line shows one. */
export type Team = { id: string; name: string; slug: string };

/**
 * Adds a team with its `#general` channel and, if named, its first owner, who becomes a member of it.
 * @throws DomainError `invalid` on `name`: malformed, taken, or without a letter or digit. The owner's name is reported
 *   under the same field.
 */
export async function createTeam(
  tx: Transaction,
  input: { name: string; owner: string },
  actor: string,
): Promise<{ team: Team; owner: UserRow; general: ChannelRow }>;
export async function createTeam(
  tx: Transaction,
  input: { name: string },
  actor: string,
): Promise<{ team: Team; owner: UserRow | undefined; general: ChannelRow }>;
export async function createTeam(
  tx: Transaction,
  input: { name: string; owner?: string },
  actor: string,
): Promise<{ team: Team; owner: UserRow | undefined; general: ChannelRow }> {
  const name = checkName(input.name);
  const row: TeamRow = { id: newId(), name, slug: slugFor(name), createdAt: now() };
  if (!(await insertTeam(tx, row))) throw nameTaken(row.slug);
  await record(tx, {
    teamId: row.id,
    actor,
    action: "team.created",
    target: `team:${row.id}`,
    details: { name },
  });

  const owner =
    input.owner === undefined
      ? undefined
      : await createPerson(tx, row.id, { name: input.owner, role: "owner" }, actor);
  const channel = {
    teamId: row.id,
    name: "general",
    visibility: "public" as const,
    topic: null,
    isGeneral: true,
    members: owner ? [owner.id] : [],
    createdBy: owner?.id ?? null,
  };
  const general = await addChannel(tx, channel, actor);
  return { team: teamResource(row), owner, general };
}

/** Returns every team in the data folder, by slug. */
export async function listTeams(db: Connection): Promise<Team[]> {
  return (await selectTeams(db)).map(teamResource);
}

/**
 * Renames a team, which changes its slug too, and returns it.
 * @throws DomainError `invalid` on `name`: malformed, taken, or without a letter or digit.
 */
export async function renameTeam(
  tx: Transaction,
  team: Team,
  input: { name: string },
  actor: string,
): Promise<Team> {
  const name = checkName(input.name);
  const slug = slugFor(name);
  if ((await selectTeamsNamed(tx, slug)).some((other) => other.slug === slug && other.id !== team.id)) {
    throw nameTaken(slug);
  }
  await updateTeamName(tx, team.id, name, slug);
  await record(tx, {
    teamId: team.id,
    actor,
    action: "team.renamed",
    target: `team:${team.id}`,
    details: { from: team.name, to: name },
  });
  return { id: team.id, name, slug };
}

/**
 * Returns the team with this id, slug, name, or start or end of the id; without a reference, the only team.
 * @throws DomainError `not_found`; `usage` without a reference when there is more than one team; `conflict`, with the
 *   ids, when several teams have the name.
 */
export async function getTeamNamed(db: Connection, reference: string | undefined): Promise<Team> {
  if (reference === undefined) return teamResource(theOnlyTeam(await selectTeams(db)));
  const named = await selectTeamsNamed(db, reference);
  return teamResource(
    named.length > 0
      ? theOnly(named, "team", reference)
      : theOnlyWithId(await selectTeams(db), "team", reference),
  );
}

function theOnlyTeam([only, ...others]: readonly TeamRow[]): TeamRow {
  if (!only)
    throw new DomainError(
      "not_found",
      "There is no team yet. Make one with: parley init --team NAME --owner NAME",
    );
  if (others.length === 0) return only;
  const options = [only, ...others].map(({ slug }) => `--team ${slug}`).join(" or ");
  throw new DomainError("usage", `There is more than one team. Choose one: ${options}`);
}

function teamResource({ id, name, slug }: TeamRow): Team {
  return { id, name, slug };
}

function slugFor(name: string): string {
  const slug = slugOf(name);
  if (slug === "") throw invalid({ name: ["The name field must contain a letter or a digit."] });
  return slug;
}

function nameTaken(slug: string): DomainError {
  return invalid({ name: [`A team with the slug ${slug} already exists.`] });
}
