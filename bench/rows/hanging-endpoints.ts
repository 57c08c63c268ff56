import { receiveArrivals, spansToEach } from "../arrivals.ts";
import type { Benchmark, Figures } from "../benchmark.ts";
import { atHosts, startReceiver } from "../deliveries.ts";
import { startParley } from "../parley.ts";
import { figuresOf } from "../spans.ts";
import { fillJobs } from "../tables.ts";
import { addChannel, seedWorkspace, subscribe } from "../workspace.ts";

const healthy = Array.from({ length: 20 }, (_, index) => `healthy${index}`);
const messageEveryMs = 100;
const fullSeconds = 75;
/** Jobs that wait for each hanging endpoint: more than it is sent during the run. */
const jobsEach = 40;

export default {
  row: 17,
  title: "Deliver beside 1,000 endpoints that hang",
  method:
    `A message every ${messageEveryMs} ms to ${healthy.length} healthy subscriptions for ${fullSeconds} s, from its commit (as in row ` +
    "7) until it arrives at each. The server has never reached any of the endpoints before. Those that hang have a host each, are not " +
    "disabled and hardly paced, so that nearly all of them have a request under way all the time.",
  goals: [{ figure: "p99Ms", of: "beside them", against: "without", atMost: 2 }],
  isOneRun: true,
  async start(scale, stack) {
    const seconds = scale.isJudged ? fullSeconds : scale.seconds;
    const arrivals = stack.use(receiveArrivals());
    const receiver = stack.use(await startReceiver("0.0.0.0"));
    const measured = async (count: number): Promise<Figures> => {
      const workspace = await seedWorkspace();
      for (const name of healthy) {
        await subscribe(workspace, arrivals.url(name), { channels: [workspace.channel] });
      }
      if (count > 0) {
        const elsewhere = await addChannel(workspace, "elsewhere");
        const urls = atHosts(receiver, count).map((url) => `${url}/hang`);
        const hanging = await subscribe(workspace, urls, { channels: [elsewhere] });
        fillJobs(workspace, hanging, count * jobsEach);
      }
      await using parley = await startParley(workspace.dataDir, {
        WEBHOOKS_DISABLE_AFTER: "1000000000",
        WEBHOOKS_BACKOFF_BASE: "0.1",
      });
      const side = { parley, workspace, arrivals };
      const { spans } = await spansToEach(healthy, side, { seconds, everyMs: messageEveryMs });
      return { ...figuresOf(spans), rssMb: parley.rssMb() };
    };
    return { "beside them": () => measured(scale.of(1_000)), without: () => measured(0) };
  },
} satisfies Benchmark;
