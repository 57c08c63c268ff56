import { expect, test } from "bun:test";
import {
  insertSubscription,
  selectSubscription,
  updateOnFailure,
  updateOnSuccess,
} from "../../src/subscriptions/store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

type Step = "success" | "failure";

test.each<[Step[], number]>([
  [["failure", "success"], 0],
  [["success", "failure"], 1],
  [["failure", "success", "failure", "failure"], 2],
  [["success", "failure", "success"], 0],
])("deliveries that finish in one commit count in order: %p", async (steps, failures) => {
  using folder = temporaryFolder();
  await using workspace = openWorkspace(folder.path);
  const { database } = workspace;
  const { id: teamId } = await workspace.team("Acme");
  const id = Bun.randomUUIDv7();
  await database.write((tx) =>
    insertSubscription(tx, {
      id,
      teamId,
      name: "CI",
      url: "https://receiver.example/",
      events: "[]",
      channelIds: null,
      status: "active",
      consecutiveFailures: 5,
      lastSuccessAt: null,
      disabledAt: null,
      secret: Buffer.alloc(1),
      previousSecret: null,
      previousSecretUntil: null,
      deletedAt: null,
      createdAt: 0,
      createdBy: null,
    }),
  );
  const settle = async (step: Step, at: number) =>
    await database.write(async (tx) => {
      if (step === "success") updateOnSuccess(tx, id, at);
      else await updateOnFailure(tx, id);
    });
  await Promise.all(steps.map((step, place) => settle(step, place + 1)));
  expect(await selectSubscription(database.read, teamId, id)).toMatchObject({
    consecutiveFailures: failures,
    lastSuccessAt: steps.lastIndexOf("success") + 1,
  });
});
