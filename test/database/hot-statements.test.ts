import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Transaction } from "../../src/database/database.ts";
import type { Outcome } from "../../src/deliveries/attempt.ts";
import { settle } from "../../src/deliveries/settle.ts";
import { postMessage } from "../../src/messages/messages.ts";
import { selectJob, selectNextJobs } from "../../src/outbox/job-store.ts";
import { subjectOf } from "../../src/users/users.ts";
import { seedCast } from "../support/cast.ts";
import { insertSubscriber } from "../support/subscriber.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";
import { notingConnection } from "./noting-connection.ts";

const succeeded: Outcome = {
  kind: "succeeded",
  status: 204,
  error: null,
  detail: null,
  responseStart: null,
  retryAfter: null,
  durationMs: 1,
};

test("posts and successes run no statement of their own, but share those at the end of their commit", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const cast = await seedCast(workspace);
  const subscriptionId = await insertSubscriber(workspace.database, cast.teamId);
  using connection = notingConnection(join(folder.path, "parley.db"));
  const { noted, commit } = connection;
  // As in a server: what no change of the workspace has made void is answered from memory.
  const cacheVersion = { now: () => "unchanged", forget: () => {} };
  const tx = Object.create(connection.tx, { cacheVersion: { value: cacheVersion } }) as Transaction;
  const post = (input = {}) =>
    postMessage(tx, subjectOf(cast.bot), cast.open.id, { body: "hello", ...input });
  const statements = () => noted.splice(0).map(({ sql }) => sql);

  const { id } = post();
  commit();
  const [next] = selectNextJobs(tx, subscriptionId, 1);
  const job = next && selectJob(tx, { subscriptionId, ...next });
  if (!job) throw new Error("nothing is queued");
  statements();

  for (let nth = 0; nth < 16; nth++) post();
  // Asked once for all of them.
  expect(statements()).toEqual(["SELECT 1 FROM fan_outs WHERE team_id > '' ORDER BY team_id LIMIT 1"]);
  await settle(tx, job, succeeded, { maxAttempts: 2, backoffBaseMs: 1_000, disableAfter: 3 });
  expect(statements()).toEqual([]);
  commit();
  const written = statements().map((sql) => /^(?:INSERT INTO|UPDATE|DELETE FROM) \w+/.exec(sql)?.[0]);
  expect(written).toEqual([
    "UPDATE channels",
    "INSERT INTO messages",
    "INSERT INTO events",
    "INSERT INTO jobs",
    "INSERT INTO attempts",
    "DELETE FROM jobs",
    "UPDATE subscriptions",
  ]);

  // A look for an earlier message does not write out those of the commit one by one.
  post();
  post({ client_uuid: crypto.randomUUID() });
  post({ reply_to_id: id });
  expect(statements().filter((sql) => !/^select/i.test(sql))).toEqual([]);
});
