import { type Arrivals, receiveArrivals, spansToEach } from "../arrivals.ts";
import type { Benchmark, Figures, Scale } from "../benchmark.ts";
import { startReceiver } from "../deliveries.ts";
import { type Parley, startParley } from "../parley.ts";
import { figuresOf } from "../spans.ts";
import { countRows, fillJobs } from "../tables.ts";
import { addChannel, type Seeded, seedWorkspace, subscribe } from "../workspace.ts";

const healthy = ["a", "b", "c", "d", "e"];
const messageEveryMs = 20;

export default {
  row: 12,
  title: "Deliver beside an endpoint that hangs, with 10,000 jobs waiting for it",
  method:
    `A message every ${messageEveryMs} ms to ${healthy.length} healthy subscriptions, from its commit (as in row 7) until it ` +
    "arrives at each of them. The hanging endpoint is not disabled after five failures, as it would be, so that it hangs on.",
  goals: [{ figure: "p99Ms", of: "beside it", against: "without", atMost: 2 }],
  async start(scale, stack) {
    const arrivals = stack.use(receiveArrivals());
    const receiver = stack.use(await startReceiver());
    const sides = { "beside it": 10_000, without: 0 };
    const started = Object.entries(sides).map(async ([name, jobs]) => {
      const workspace = await seedWorkspace();
      for (const address of healthy) {
        await subscribe(workspace, arrivals.url(address), { channels: [workspace.channel] });
      }
      const elsewhere = await addChannel(workspace, "elsewhere");
      const hanging = await subscribe(workspace, `${receiver.firstLine}/hang`, { channels: [elsewhere] });
      fillJobs(workspace, hanging, jobs);
      const parley = stack.use(
        await startParley(workspace.dataDir, { WEBHOOKS_DISABLE_AFTER: "1000000000" }),
      );
      return [name, () => deliverToHealthy({ parley, workspace, arrivals, jobs }, scale)] as const;
    });
    return Object.fromEntries(await Promise.all(started));
  },
} satisfies Benchmark;

type Side = { parley: Parley; workspace: Seeded; arrivals: Arrivals; jobs: number };

async function deliverToHealthy({ parley, workspace, arrivals, jobs }: Side, scale: Scale): Promise<Figures> {
  const { seconds } = scale;
  const side = { parley, workspace, arrivals };
  const { spans } = await spansToEach(healthy, side, { seconds, everyMs: messageEveryMs });
  const waiting = countRows(workspace.file, "jobs");
  if (jobs > 0 && waiting < jobs / 2)
    throw new Error(`only ${waiting} of ${jobs} jobs wait for the hanging endpoint`);
  return { ...figuresOf(spans), rssMb: parley.rssMb() };
}
