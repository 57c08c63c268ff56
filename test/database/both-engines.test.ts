import { afterAll, beforeAll, describe, expect, setSystemTime, test } from "bun:test";
import { join } from "node:path";
import { type Connections, openConnections } from "../../src/database/postgres/connections.ts";
import { migratePostgres } from "../../src/database/postgres/migrate.ts";
import { freshDatabase } from "../support/postgres.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";
import { type NotingConnection, notingConnection } from "./noting-connection.ts";
import { isFlat, plansOf } from "./postgres-plans.ts";
import { type Ran, runOn } from "./replaying-connection.ts";
import { chatStores } from "./stores/chat.ts";
import { deliveryStores } from "./stores/deliveries.ts";
import { directoryStores } from "./stores/directory.ts";
import { at } from "./stores/rows.ts";
import { peopleStores } from "./stores/people.ts";

/**
 * The statements of the stores must do the same on SQLite and on PostgreSQL. These tests call every function of every
 * store on both, each after the other, and compare what it returns.
 */

const stores = { ...peopleStores, ...chatStores, ...deliveryStores, ...directoryStores };

/** These read a list of a team or of the workspace, which is sorted or searched for something rare. */
const readLists = new Set(
  `conditionOf countPeople selectPeople selectPeopleIn selectRemoved
   selectEmails selectGroups selectGroupMembers selectTeams selectTeamsNamed
   selectTeamIds selectUsers selectUsersNamed selectOtherOwner selectTokens
   selectAuditEntries selectEmoji selectIncomingWebhooks selectWebhookSecrets selectSealedWebhooks
   selectSubscriptions selectSubscriptionsOfCreator selectSubscriptionSecrets selectSubscriptionIdsWithWork selectDeletedSubscriptionIds
   selectDisabledSubscriptionIds selectHeld selectHoldExceptions selectHeldEvents selectQueuedJobsByEvent hasWork
   selectTeamWithFanOut selectNewestEventTime selectAllSubscriptionsOf selectAttemptIds selectEventsById selectNewestEventsById
   selectEventsMentioning selectMessagesPosted selectAlertChannels selectRefusedPosts`.split(/\s+/),
);

const folder = temporaryFolder();
let sqlite: NotingConnection;
let database: Awaited<ReturnType<typeof freshDatabase>>;
let postgres: Connections;
/** What ran on PostgreSQL, once for each text and its parameters, with the function that it is of. */
const statements = new Map<string, Ran & { name: string }>();

beforeAll(async () => {
  await (await openWorkspace(folder.path))[Symbol.asyncDispose]();
  sqlite = notingConnection(join(folder.path, "parley.db"));
  database = await freshDatabase();
  postgres = openConnections(database.url);
  await migratePostgres(postgres);
  setSystemTime(at);
});

afterAll(async () => {
  setSystemTime();
  sqlite[Symbol.dispose]();
  await postgres.close();
  await database[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** What can be compared: rows in no particular order are sorted. */
function comparable(value: unknown, isOrdered: boolean): unknown {
  return isOrdered || !Array.isArray(value) ? value : value.map((row) => JSON.stringify(row)).sort();
}

test("every function of every store is called", async () => {
  const files = [...new Bun.Glob("**/{store,*-store}.ts").scanSync("src")];
  // Several nodes are there on PostgreSQL only.
  expect([...Object.keys(stores), "nodes/store.ts"].sort()).toEqual(files.sort());
  for (const [file, { module, calls }] of Object.entries(stores)) {
    const functions = Object.entries(module).filter(([, value]) => typeof value === "function");
    expect(Object.keys(calls).sort(), file).toEqual(functions.map(([name]) => name).sort());
  }
});

describe.each(Object.entries(stores))("what %s does is the same on both engines:", (_, { calls }) => {
  test.each(Object.entries(calls))("%s", async (name, variants) => {
    for (const [nth, call] of variants.entries()) {
      sqlite.noted.length = 0;
      const expected = await call(sqlite.tx);
      sqlite.commit();
      const isOrdered = /\border by\b/i.test(sqlite.noted.at(-1)?.sql ?? "");
      const { value, ran } = await runOn(postgres, call);
      for (const statement of ran) statements.set(JSON.stringify(statement), { name, ...statement });
      expect(comparable(value, isOrdered), `call ${nth}`).toEqual(comparable(expected, isOrdered));
    }
  });
});

describe("on PostgreSQL an index finds the rows among many", () => {
  let plans: Awaited<ReturnType<typeof plansOf<Ran & { name: string }>>>;

  beforeAll(async () => {
    plans = await plansOf(postgres, statements.values());
  });

  test("for every statement that does not read a list", () => {
    const slow = plans.filter(({ name, steps }) => !readLists.has(name) && !steps.every(isFlat));
    expect(slow).toEqual([]);
    expect(plans.length).toBeGreaterThan(100);
  });

  test("for the subscriptions with work, each of which is looked up by itself", () => {
    const ofJobs = plans
      .filter(({ name }) => /^select(Deleted|Disabled)?SubscriptionIds(WithWork)?$/.test(name))
      .flatMap(({ steps }) => steps.filter(({ table }) => table === "jobs"));
    expect(ofJobs).toHaveLength(3);
    for (const { condition } of ofJobs) expect(condition).toContain("(subscription_id = subscriptions.id)");
  });

  test.each([
    ["userName eq", "lower(user_name) = 'ann'"],
    ["externalId eq", "external_id = 'ann'"],
    ["displayName eq", "lower(name) = 'ann'"],
    ["emails eq", "lower(value) = 'ann'"],
  ])("for a directory that asks for %s", (_, condition) => {
    const conditions = plans.flatMap(({ steps }) => steps.map((step) => step.condition?.toLowerCase()));
    expect(conditions.filter((each) => each?.includes(condition))).not.toEqual([]);
  });
});
