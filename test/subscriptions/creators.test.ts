import { expect, test } from "bun:test";
import { Vault } from "../../src/secrets/vault.ts";
import { actorOf } from "../../src/subject.ts";
import { createSubscription, listSubscriptions } from "../../src/subscriptions/subscriptions.ts";
import { deactivate, subjectOf } from "../../src/users/users.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace } from "../support/workspace.ts";

test("whoever is deactivated while the address of a subscription is looked up does not get it", async () => {
  using folder = temporaryFolder();
  await using workspace = openWorkspace(folder.path);
  const { database } = workspace;
  const team = await workspace.team("Acme");
  const person = await workspace.person(team.id, "Ada", "member");
  const parts = {
    database,
    vault: new Vault(Buffer.alloc(32, 1)),
    guard: {
      blockPrivate: true,
      resolve: async () => {
        await database.write((tx) => deactivate(tx, person, actor));
        return ["8.8.8.8"];
      },
    },
    log: { warn: () => {} },
    maxSubscriptions: 10,
  };
  const input = { name: "CI", url: "https://ci.example/", events: ["message.created"] };
  const asked = createSubscription(parts, team.id, input, actorOf(subjectOf(person)));
  expect(await asked.catch((error: unknown) => error)).toMatchObject({
    code: "forbidden",
    message: "Ada is deactivated.",
  });
  expect(await listSubscriptions(database.read, team.id)).toEqual([]);
});
