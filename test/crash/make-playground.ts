import { openWorkspace } from "../support/workspace.ts";
import type { Playground } from "./load.ts";

// A separate program, so that everything it opened is closed when it ends: a server that is killed was then the only
// one with the data open, and the next one must recover it.
await using workspace = await openWorkspace(Bun.argv.at(-1) ?? "");
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
