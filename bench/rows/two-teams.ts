import { postMessage, receiveArrivals, spansToEach } from "../arrivals.ts";
import type { Benchmark, Figures } from "../benchmark.ts";
import { atHosts, startReceiver } from "../deliveries.ts";
import { type Parley, startParley } from "../parley.ts";
import { figuresOf } from "../spans.ts";
import { seedTeam, type Seeded, seedWorkspace, subscribe } from "../workspace.ts";

const healthy = Array.from({ length: 20 }, (_, index) => `healthy${index}`);
const messageEveryMs = 20;
const otherTeamEveryMs = 1_000;
const fullSeconds = 60;

export default {
  row: 19,
  title: "Post and deliver beside another team with 1,000 endpoints that hang",
  method:
    `A message every ${messageEveryMs} ms to ${healthy.length} healthy subscriptions for ${fullSeconds} s: from its commit (as in row ` +
    "7) until it arrives at each, and each post. The other team posts once a second, which all of its subscriptions match. " +
    "They have a host each, are not disabled and hardly paced.",
  goals: [
    { figure: "p99Ms", of: "beside it", against: "without", atMost: 2 },
    { figure: "postP99Ms", of: "beside it", against: "without", atMost: 1.2 },
  ],
  async start(scale, stack) {
    const seconds = scale.isJudged ? fullSeconds : scale.seconds;
    const arrivals = stack.use(receiveArrivals());
    const receiver = stack.use(await startReceiver("0.0.0.0"));
    const measured = async (count: number): Promise<Figures> => {
      const workspace = await seedWorkspace();
      await subscribe(
        workspace,
        healthy.map((name) => arrivals.url(name)),
      );
      const other = await seedTeam(workspace.dataDir, "Globex");
      await subscribe(
        other,
        atHosts(receiver, count).map((url) => `${url}/hang`),
      );
      await using parley = await startParley(workspace.dataDir, {
        WEBHOOKS_DISABLE_AFTER: "1000000000",
        WEBHOOKS_BACKOFF_BASE: "0.1",
      });
      using _posting = count > 0 ? postSteadily(parley, other) : undefined;
      const side = { parley, workspace, arrivals };
      const { spans, posts } = await spansToEach(healthy, side, { seconds, everyMs: messageEveryMs });
      return {
        ...figuresOf(spans),
        postP99Ms: figuresOf(posts).p99Ms ?? Number.NaN,
        rssMb: parley.rssMb(),
      };
    };
    return { "beside it": () => measured(scale.of(1_000)), without: () => measured(0) };
  },
} satisfies Benchmark;

/** Posts as the other team until the result is disposed of. */
function postSteadily(parley: Parley, team: Seeded): Disposable {
  const timer = setInterval(() => void postMessage(parley, team), otherTeamEveryMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
