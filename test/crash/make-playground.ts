import { openWorkspace } from "../support/workspace.ts";
import type { Playground } from "./load.ts";

// A program of its own: what it opened is closed for sure when it has ended, so that a server which is killed was the
// only one that had the data open, and the one after it has to recover it.
await using workspace = openWorkspace(Bun.argv.at(-1) ?? "");
const { id: teamId, owner, general } = await workspace.team("Acme");
const secret = await workspace.channel(owner, "secret", "private");
const users = await Promise.all(
  Array.from({ length: 500 }, (_, index) => workspace.person(teamId, `Person ${index}`)),
);
const { token } = await workspace.token(owner);
const playground: Playground = {
  token,
  channelIds: [general.id, secret.id],
  privateId: secret.id,
  userIds: users.map(({ id }) => id),
};
process.stdout.write(JSON.stringify(playground));
