import type { Database } from "../../src/database/database.ts";
import { replaceFilters, insertSubscription } from "../../src/subscriptions/store.ts";

/** Adds a subscription of the team to every message, with a secret that nothing can be signed with. Returns its id. */
export async function insertSubscriber(
  database: Database,
  teamId: string,
  consecutiveFailures = 0,
): Promise<string> {
  const id = Bun.randomUUIDv7();
  await database.write(async (tx) => {
    await insertSubscription(tx, {
      id,
      teamId,
      name: "CI",
      url: "https://receiver.example/",
      events: "[]",
      channelIds: null,
      status: "active",
      consecutiveFailures,
      lastSuccessAt: null,
      disabledAt: null,
      secret: Buffer.alloc(1),
      previousSecret: null,
      previousSecretUntil: null,
      deletedAt: null,
      createdAt: 0,
      createdBy: null,
      afterEvent: 0,
      headers: null,
      headerNames: "",
      certificateEndsAt: null,
    });
    await replaceFilters(tx, { id, teamId, url: "https://receiver.example/" }, ["message.created"], null, 0);
  });
  return id;
}
