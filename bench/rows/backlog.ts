import type { Benchmark } from "../benchmark.ts";
import { deliver, startReceiver } from "../deliveries.ts";
import { seedWorkspace, subscribe } from "../workspace.ts";

export default {
  row: 11,
  title: "Deliver beside a backlog of 1,000,000 jobs",
  method:
    "10 subscriptions. As many jobs are added as are delivered, so that each backlog keeps its size during the run.",
  goals: [
    { figure: "perSecond", of: "1,000,000 jobs", against: "1,000 jobs", atLeast: 1 / 1.25 },
    { figure: "rssMb", of: "1,000,000 jobs", against: "1,000 jobs", atMostMore: 60 },
  ],
  async start(scale, stack) {
    const receiver = stack.use(await startReceiver());
    const sizes = { "1,000 jobs": 1_000, "1,000,000 jobs": scale.of(1_000_000) };
    const sides = Object.entries(sizes).map(async ([name, size]) => {
      const workspace = await seedWorkspace();
      const subscriptionIds = await subscribe(workspace, receiver.firstLine, { count: 10 });
      return [
        name,
        () => deliver({ workspace, receiver, subscriptionIds, size, isKeptFull: true }, scale),
      ] as const;
    });
    return Object.fromEntries(await Promise.all(sides));
  },
} satisfies Benchmark;
