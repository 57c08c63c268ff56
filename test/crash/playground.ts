import type { Workspace } from "../support/workspace.ts";

/** A team's owner, two channels that they are in, and the users still to be added to the private one. */
export type Playground = { token: string; channelIds: string[]; privateId: string; userIds: string[] };

/** Makes a team with these many people for senders to play in. */
export async function makePlayground(workspace: Workspace, people = 100): Promise<Playground> {
  const { id: teamId, owner, general } = await workspace.team("Acme");
  const secret = await workspace.channel(owner, "secret", "private");
  const users = await Promise.all(
    Array.from({ length: people }, (_, index) => workspace.person(teamId, `Person ${index}`)),
  );
  const { token } = await workspace.token(owner);
  return {
    token,
    channelIds: [general.id, secret.id],
    privateId: secret.id,
    userIds: users.map(({ id }) => id),
  };
}
