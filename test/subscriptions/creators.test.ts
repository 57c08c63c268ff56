import { describe, expect, test } from "bun:test";
import type { Database } from "../../src/database/database.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { actorOf } from "../../src/subject.ts";
import { disableSubscription, enableSubscription } from "../../src/subscriptions/status.ts";
import { createSubscription, listSubscriptions } from "../../src/subscriptions/subscriptions.ts";
import { deactivate } from "../../src/accounts/people.ts";
import { subjectOf } from "../../src/users/users.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace } from "../support/workspace.ts";

test("a user who is deactivated during the DNS look-up of a new subscription does not get it", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
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
  const request = createSubscription(parts, team.id, input, actorOf(subjectOf(person)));
  expect(await request.catch((error: unknown) => error)).toMatchObject({
    code: "forbidden",
    message: "Ada is deactivated.",
  });
  expect(await database.ask((db) => listSubscriptions(db, team.id))).toEqual([]);
});

describe("a subscription that is being enabled", () => {
  /** A disabled subscription of a person, and an `enable` before whose last write the person is deactivated. */
  async function startEnabling() {
    const folder = temporaryFolder();
    const workspace = await openWorkspace(folder.path);
    const { database } = workspace;
    const team = await workspace.team("Acme");
    const person = await workspace.person(team.id, "Ada", "member");
    const vault = new Vault(findKey(folder.path, ""));
    const guard = { blockPrivate: false };
    const parts = { database, vault, guard, log: { warn: () => {} }, maxSubscriptions: 10 };
    const input = { name: "CI", url: "http://127.0.0.1:1/", events: ["message.created"] };
    const { data } = await createSubscription(parts, team.id, input, actorOf(subjectOf(person)));
    await database.write((tx) => disableSubscription(tx, team.id, data.id, actor));
    const deactivating: Database = {
      ...database,
      write: async (change) => {
        await database.write((tx) => deactivate(tx, person, actor));
        return await database.write(change);
      },
    };
    return {
      enable: (on = database) => enableSubscription(on, team.id, data.id, { discardPending: false }, actor),
      deactivating,
      status: async () =>
        (await database.ask((db) => listSubscriptions(db, team.id))).map(({ status }) => status),
      async [Symbol.asyncDispose]() {
        await workspace[Symbol.asyncDispose]();
        folder[Symbol.dispose]();
      },
    };
  }

  test("stays disabled when its creator is deactivated meanwhile, and is enabled by the next request", async () => {
    await using stage = await startEnabling();
    const request = stage.enable(stage.deactivating);
    expect(await request.catch((error: unknown) => error)).toMatchObject({
      code: "conflict",
      message: expect.stringMatching(
        /^Ada, who created the subscription, was deactivated in the meantime.+again/,
      ),
    });
    expect(await stage.status()).toEqual(["disabled"]);
    expect(await stage.enable()).toMatchObject({ status: "active" });
    expect(await stage.status()).toEqual(["active"]);
  });
});
