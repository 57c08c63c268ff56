import type { Benchmark, Figures, Scale } from "../benchmark.ts";
import {
  acceptedBy,
  atHosts,
  deliver,
  jobsOfFullQueue,
  type Receiver,
  startReceiver,
} from "../deliveries.ts";
import { type OnPostgres, seedOnPostgres, startNode } from "../postgres.ts";
import { seedWorkspace, subscribe } from "../workspace.ts";

const hosts = 5;

export default {
  row: 22,
  title: "Deliver from a full queue, on PostgreSQL",
  method:
    "A server starts on a full queue of 10 subscriptions at 5 hosts, on PostgreSQL and on SQLite, as in row 5.",
  goals: [{ figure: "perSecond", of: "PostgreSQL", against: "SQLite", atLeast: 0.8 }],
  async start(scale, stack) {
    const receiver = stack.use(await startReceiver("0.0.0.0"));
    const onPostgres = stack.use(await seedOnPostgres());
    const workspace = await seedWorkspace();
    const size = jobsOfFullQueue(scale);
    const each = { count: 10 / hosts };
    const subscriptionIds = await subscribe(workspace, atHosts(receiver, hosts), each);
    const ids = await subscribe(onPostgres.workspace, atHosts(receiver, hosts), each);
    return {
      PostgreSQL: () => deliverOnPostgres(onPostgres, receiver, ids, scale),
      SQLite: () => deliver({ workspace, receiver, size, subscriptionIds }, scale),
    };
  },
} satisfies Benchmark;

/** As `deliver` does on SQLite. */
async function deliverOnPostgres(
  { workspace, count, run }: OnPostgres,
  receiver: Receiver,
  subscriptionIds: string[],
  scale: Scale,
): Promise<Figures> {
  const { seconds, isJudged } = scale;
  const missing = jobsOfFullQueue(scale) - (await count("jobs"));
  await run(
    `WITH added AS (
       INSERT INTO events (id, type, data, created_at)
       SELECT gen_random_uuid()::text, 'message.created', $1::text, $2::bigint FROM generate_series(1, $3::integer)
       RETURNING seq, created_at
     )
     INSERT INTO jobs (subscription_id, due_at, event_seq, attempts)
     SELECT ($4::text[])[1 + seq % cardinality($4::text[])], created_at, seq, 0 FROM added`,
    [
      JSON.stringify({ channel_id: workspace.channel.id, body: "x".repeat(400) }),
      String(Date.now()),
      String(missing),
      `{${subscriptionIds.join(",")}}`,
    ],
  );
  await run("VACUUM ANALYZE");
  const [attemptsBefore, acceptedBefore] = [await count("attempts"), await acceptedBy(receiver)];
  const node = await startNode(workspace);
  await Bun.sleep(seconds * 200);
  const startedAt = performance.now();
  const settledBefore = await acceptedBy(receiver);
  await Bun.sleep(seconds * 1000);
  const settled = (await acceptedBy(receiver)) - settledBefore;
  const elapsedMs = performance.now() - startedAt;
  const rssMb = node.rssMb();
  const left = await count("jobs");
  await node.stop();
  const logged = (await count("attempts")) - attemptsBefore;
  const accepted = (await acceptedBy(receiver)) - acceptedBefore;
  if (logged !== accepted) throw new Error(`${accepted} deliveries arrived, and ${logged} are in the log`);
  if (logged === 0) throw new Error("nothing was delivered");
  if (isJudged && left === 0) throw new Error("the queue ran empty before the run was over");
  return { perSecond: (settled / elapsedMs) * 1000, rssMb };
}
